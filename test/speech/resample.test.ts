/** Proves that resampling keeps what telephones carry. */

import { createResampler, readWav } from '../../src/speech/telephone-samples';

const toTelephone = createResampler(22_050, 8_000);

describe('the way from 22,050 to 8,000 Hz', () => {
  const tone = (hz: number) =>
    Int16Array.from({ length: 22_050 }, (_, i) => 10_000 * Math.sin((2 * Math.PI * hz * i) / 22_050));
  const levelDb = (samples: Int16Array) => {
    const middle = samples.subarray(500, -500);
    const power = middle.reduce((sum, sample) => sum + sample * sample, 0) / middle.length;
    return 10 * Math.log10(power / (10_000 ** 2 / 2));
  };

  test('keeps a second a second', () => {
    expect(toTelephone(tone(440))).toHaveLength(8_000);
    expect(toTelephone(new Int16Array(0))).toHaveLength(0);
    expect(toTelephone(new Int16Array(1))).toHaveLength(1);
  });

  test('leaves what telephones carry as it is', () => {
    for (const hz of [100, 300, 1_000, 3_300])
      expect(Math.abs(levelDb(toTelephone(tone(hz))))).toBeLessThan(0.1);
  });

  test('leaves nothing of what would fold back', () => {
    for (const hz of [4_100, 5_000, 7_900, 10_000]) expect(levelDb(toTelephone(tone(hz)))).toBeLessThan(-55);
  });

  test('delays nothing', () => {
    const click = new Int16Array(22_050);
    click[11_025] = 32_767;
    const found = toTelephone(click);
    expect(found.indexOf(found.reduce((most, sample) => Math.max(most, sample)))).toBe(4_000);
  });

  test('does not go up', () => {
    expect(() => createResampler(8_000, 16_000)).toThrow(RangeError);
  });
});

describe('a file of samples', () => {
  const header = (dataBytes: number, { channels = 1, bits = 16 } = {}) => {
    const bytes = Buffer.alloc(44);
    bytes.write('RIFF', 0, 'latin1');
    bytes.write('WAVEfmt ', 8, 'latin1');
    bytes.writeUInt32LE(16, 16);
    bytes.writeUInt16LE(1, 20);
    bytes.writeUInt16LE(channels, 22);
    bytes.writeUInt32LE(22_050, 24);
    bytes.writeUInt16LE(bits, 34);
    bytes.write('data', 36, 'latin1');
    bytes.writeUInt32LE(dataBytes, 40);
    return bytes;
  };

  test('has as many as have come, whatever length it gives', () => {
    const read = readWav(Buffer.concat([header(0x7fff_f000), Buffer.from([1, 0, 255, 255, 9])]));
    expect(read?.rate).toBe(22_050);
    expect([...(read?.samples ?? [])]).toEqual([1, -1]);
  });

  test('of another kind is none', () => {
    const others = [
      header(0, { channels: 2 }),
      header(0, { bits: 8 }),
      header(0).subarray(0, 30),
      Buffer.from('RIFF'),
    ];
    for (const bytes of others) expect(readWav(bytes)).toBeUndefined();
    expect(readWav(Buffer.concat([Buffer.from('RIFF....WAVE'), Buffer.alloc(64, 0xff)]))).toBeUndefined();
  });
});
