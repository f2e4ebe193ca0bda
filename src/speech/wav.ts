import { samplesOf } from './sample-bytes';

/** Samples of a RIFF file (WAVE, PCM) with 16 bits in one channel; undefined for any other file. */
export function readWav(bytes: Buffer): { rate: number; samples: Int16Array } | undefined {
  if (bytes.length < 12 || bytes.toString('latin1', 0, 4) !== 'RIFF') return undefined;
  let rate = 0;
  for (let at = 12; at + 8 <= bytes.length; ) {
    const name = bytes.toString('latin1', at, at + 4);
    const length = bytes.readUInt32LE(at + 4);
    const from = at + 8;
    if (name === 'fmt ' && length >= 16 && from + 16 <= bytes.length) {
      const isPlain = bytes.readUInt16LE(from) === 1 && bytes.readUInt16LE(from + 2) === 1;
      if (!isPlain || bytes.readUInt16LE(from + 14) !== 16) return undefined;
      rate = bytes.readUInt32LE(from + 4);
    }
    if (name === 'data') {
      // A program that writes to a pipe does not know the length beforehand and gives one that is far too
      // large.
      const samples = samplesOf(bytes.subarray(from, from + length));
      return rate === 0 ? undefined : { rate, samples };
    }
    at = from + length + (length % 2);
  }
  return undefined;
}
