/** Proves how the speech engine is found, run, limited and cached. */

import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEspeakSynthesizer } from '../../src/speech/espeak-synthesizer';
import { findSynthesizer } from '../../src/speech/find-synthesizer';
import { createSpeechCache } from '../../src/speech/speech-cache';

let place: string;
beforeEach(() => {
  place = mkdtempSync(join(tmpdir(), 'fanfare-test-speech-'));
});
afterEach(() => rmSync(place, { recursive: true, force: true }));

describe('looking for an engine', () => {
  test('that is not there says so, and how to get it', async () => {
    const found = await findSynthesizer(join(place, 'espeak-ng'));
    expect(found).toMatchObject({ available: false, reason: expect.stringContaining('there is no program') });
    expect(found).toMatchObject({ wayOut: expect.stringContaining('apt-get install espeak-ng') });
  });

  test('that does not run, or has no voices, says which', async () => {
    expect(await findSynthesizer(engine('exit 3'))).toMatchObject({
      reason: expect.stringContaining('does not run (ended with code 3)'),
    });
    expect(await findSynthesizer(engine('echo 1.51'))).toMatchObject({
      reason: expect.stringContaining('has no voices'),
    });
  });
});

describe('an engine', () => {
  const speak = (body: string, limits: object = {}, cacheDirectory?: string) =>
    createEspeakSynthesizer({
      found: {
        available: true,
        executable: engine(body),
        version: '1',
        voices: [{ language: 'en-us', priority: 5 }],
      },
      limits,
      ...(cacheDirectory !== undefined && { cacheDirectory }),
    });
  const say = (speech: ReturnType<typeof speak>, text: string) =>
    speech.synthesize(text, undefined, undefined);

  test('is asked once for a sentence, also by many at once and after a restart', async () => {
    const kept = join(place, 'kept');
    const first = speak(recorded(), {}, kept);
    const [one, ...others] = await Promise.all(Array.from({ length: 20 }, () => say(first, 'the same')));
    expect(one).toHaveLength(4);
    expect(others.every((other) => other === one)).toBe(true);
    expect(await say(first, 'the same')).toBe(one);
    expect(await say(speak(recorded(), {}, kept), 'the same')).toEqual(one);
    expect(starts()).toBe(1);
    await say(first, 'another');
    expect(starts()).toBe(2);
    for (const name of readdirSync(kept)) {
      expect(name).toMatch(/^[0-9a-f]{64}\.pcm$/);
      expect(statSync(join(kept, name)).mode & 0o077).toBe(0);
    }
  });

  test('gets its text by stdin and nothing of it as an argument', async () => {
    await say(speak(`echo "$@" > ${place}/args; cat > ${place}/text; ${WAV}`), '-v evil; words');
    expect(readFileSync(join(place, 'args'), 'utf8')).toBe('-v en-us -s 160 -b 1 -z --stdin --stdout\n');
    expect(readFileSync(join(place, 'text'), 'utf8')).toBe('-v evil; words');
  });

  test('that hangs is ended, and asked again the next time', async () => {
    const body = `[ -e ${place}/well ] || exec sleep 600; ${WAV}`;
    const speech = speak(body, { speechTimeoutMs: 1_500 });
    await expect(say(speech, 'x')).rejects.toMatchObject({ code: 'dependency_down' });
    writeFileSync(join(place, 'well'), '');
    expect(await say(speech, 'x')).toHaveLength(4);
  });

  test('that writes without end is ended', async () => {
    const speech = speak('exec cat /dev/zero', { speechOutputBytes: 100_000 });
    await expect(say(speech, 'x')).rejects.toThrow('wrote over 100000 bytes');
  });

  test('that fails, or writes no speech, is reported without the text', async () => {
    await expect(say(speak('exit 1'), 'Ann')).rejects.toMatchObject({
      code: 'dependency_down',
      message: 'the speech engine ended with code 1',
    });
    await expect(say(speak('echo hello'), 'Ann')).rejects.toThrow('something that is no speech');
  });

  test('runs so many times at once and no more, and refuses when too many wait', async () => {
    // Each run tells how many there are while it is there.
    const body = `mkdir ${place}/run.$$; ls -d ${place}/run.* | wc -l >> ${place}/seen; sleep 0.1; rmdir ${place}/run.$$; ${WAV}`;
    const speech = speak(body, { speechProcesses: 2, speechWaiting: 6 });
    const said = await Promise.allSettled(Array.from({ length: 10 }, (_, i) => say(speech, `number ${i}`)));
    const refused = said.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
    expect(refused.map(({ code }) => code)).toEqual(['overloaded', 'overloaded']);
    const seen = readFileSync(join(place, 'seen'), 'utf8').trim().split(/\s+/).map(Number);
    expect(seen).toHaveLength(8);
    expect(Math.max(...seen)).toBeLessThanOrEqual(2);
    expect(await say(speech, 'later')).toHaveLength(4);
  });

  test('is not run for a language without a voice', async () => {
    const speech = speak(recorded());
    await expect(speech.synthesize('x', undefined, 'de')).rejects.toMatchObject({ code: 'invalid_request' });
    expect(existsSync(join(place, 'starts'))).toBe(false);
  });
});

describe('speech that is kept', () => {
  const samples = (value: number) => async () => new Int16Array(500).fill(value);

  test('takes no more memory than it may: what was used longest ago is made again', async () => {
    const cache = createSpeechCache({ memoryBytesMax: 2_000 });
    let made = 0;
    const get = (name: string) => cache.get([name], async () => new Int16Array(500).fill(++made));
    for (const name of ['a', 'b', 'a', 'c', 'a', 'b']) await get(name);
    expect(made).toBe(4);
  });

  test('takes no more of the disk than a tenth over its bound', async () => {
    const directory = { path: join(place, 'kept'), bytesMax: 10_000 };
    for (let i = 0; i < 40; i++) {
      await createSpeechCache({ memoryBytesMax: 0, directory }).get([`${i}`], samples(i));
    }
    const sizes = readdirSync(directory.path).map((name) => statSync(join(directory.path, name)).size);
    expect(sizes.reduce((a, b) => a + b, 0)).toBeLessThanOrEqual(11_000);
    expect(sizes.length).toBeGreaterThanOrEqual(9);
  });

  test('in a directory that cannot be used is made each time', async () => {
    writeFileSync(join(place, 'file'), '');
    const directory = { path: join(place, 'file'), bytesMax: 10_000 };
    const cache = createSpeechCache({ memoryBytesMax: 0, directory });
    expect((await cache.get(['a'], samples(7)))[0]).toBe(7);
    expect((await cache.get(['a'], samples(8)))[0]).toBe(8);
  });
});

/** A WAVE file of eleven samples at 22,050 Hz, hence four at 8,000; and who only reads its text and writes that. */
const WAV = `cat ${'$'}{0}.wav`;
const recorded = () => `echo >> ${place}/starts; cat > /dev/null; ${WAV}`;
const starts = () => readFileSync(join(place, 'starts'), 'utf8').length;
let engines = 0;

/** A program in the place of the real one. */
function engine(body: string): string {
  const path = join(place, `engine-${++engines}`);
  writeFileSync(path, `#!/bin/sh\n${body}\n`);
  chmodSync(path, 0o700);
  const wav = Buffer.alloc(44 + 22);
  wav.write('RIFF', 0, 'latin1');
  wav.write('WAVEfmt ', 8, 'latin1');
  wav.writeUInt32LE(16, 16);
  wav.writeUInt16LE(1, 20);
  wav.writeUInt16LE(1, 22);
  wav.writeUInt32LE(22_050, 24);
  wav.writeUInt16LE(16, 34);
  wav.write('data', 36, 'latin1');
  wav.writeUInt32LE(22, 40);
  writeFileSync(`${path}.wav`, wav);
  return path;
}
