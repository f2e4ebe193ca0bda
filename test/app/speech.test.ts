/** Proves that a process starts with a working speech engine only, and names the remedy otherwise. */

import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSpeech } from '../../src/app/speech';
import { readConfig } from '../../src/config';
import { StartupError } from '../../src/startup-error';

describe('the engine that speaks texts', () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), 'fanfare-test-'));
  });
  afterEach(() => {
    rmSync(directory, { recursive: true, force: true });
  });
  const config = (speech?: string) => readConfig({ FANFARE_SPEECH: speech, FANFARE_DATA_DIR: directory });

  test('is not looked for when none is wanted', async () => {
    expect(await openSpeech(config())).toBeUndefined();
  });

  test('keeps the process from starting when it is not there, with what can be done', async () => {
    const error = await openSpeech(config('espeak-ng'), join(directory, 'espeak-ng')).catch(
      (caught: unknown) => caught,
    );
    expect(error).toBeInstanceOf(StartupError);
    expect((error as StartupError).message).toContain('espeak-ng');
    expect((error as StartupError).wayOut).toMatch(/Install .*FANFARE_SPEECH/);
  });

  test('speaks the languages that it says it has', async () => {
    const program = join(directory, 'espeak-ng');
    writeFileSync(program, '#!/bin/sh\necho "espeak-ng 1.51"\necho " 5  de  --/M  German  gmw/de"\n');
    chmodSync(program, 0o755);
    const synthesizer = await openSpeech(config('espeak-ng'), program);
    expect(synthesizer?.speaks('de-AT')).toBe(true);
    expect(synthesizer?.speaks('tlh')).toBe(false);
  });

  test('is named, and no other is known', () => {
    expect(() => config('festival')).toThrow('FANFARE_SPEECH');
  });
});
