/** Proves that a real espeak-ng speaks as calls need it. */

import { existsSync } from 'node:fs';
import { createEspeakSynthesizer } from '../../src/speech/espeak-synthesizer';
import { findSynthesizer } from '../../src/speech/find-synthesizer';

describe('espeak-ng', () => {
  const open = async (cacheDirectory?: string) => {
    const found = await findSynthesizer();
    if (!found.available) throw new Error(found.reason);
    return createEspeakSynthesizer({ found, ...(cacheDirectory !== undefined && { cacheDirectory }) });
  };

  test('is found with its version and its voices', async () => {
    const found = await findSynthesizer();
    expect(found).toMatchObject({ available: true, version: expect.stringMatching(/^\d+\.\d+/) });
    const speech = await open();
    expect(['en-US', 'de-DE', 'fr-CA', 'zh-CN', undefined].map(speech.speaks)).toEqual(Array(5).fill(true));
    expect(speech.speaks('tlh')).toBe(false);
  });

  test('speaks a sentence as long as it takes, and loud enough', async () => {
    const samples = await (await open()).synthesize('Hello, this is Ann speaking', undefined, 'en-US');
    expect(samples.length / 8_000).toBeGreaterThan(1);
    expect(samples.length / 8_000).toBeLessThan(4);
    expect(samples.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0)).toBeGreaterThan(4_000);
  });

  test('speaks every voice and language apart, and the same words alike', async () => {
    const speech = await open();
    const first = await speech.synthesize('one two three', undefined, 'en-US');
    expect(await speech.synthesize(' one  two\nthree ', 'alice', 'en')).toBe(first);
    expect(await speech.synthesize('one two three', 'woman', 'en-US')).not.toEqual(first);
    expect(await speech.synthesize('one two three', undefined, 'de')).not.toEqual(first);
  });

  test('takes a hostile text for words', async () => {
    const speech = await open();
    const shortest = await speech.synthesize('hello', undefined, undefined);
    for (const text of [
      '--version',
      '-f /etc/passwd',
      '-w x.wav hello',
      '<speak><audio src="x"/>hello</speak>',
      '[[h@l@U]]',
      'a\u0000hello, all of it',
      'a\u0001200Shello',
      'hello \ud800',
      '"; touch x; "',
      '$(touch x)',
    ]) {
      const samples = await speech.synthesize(text, undefined, undefined);
      expect({ text, spoken: samples.length >= shortest.length }).toEqual({ text, spoken: true });
    }
    expect(existsSync('x') || existsSync('x.wav')).toBe(false);
    for (const nothing of ['', '  ', '\u0000\u0001']) {
      expect(await speech.synthesize(nothing, undefined, undefined)).toHaveLength(0);
    }
  });

  test('speaks as much as it may, and refuses more', async () => {
    const speech = await open();
    const most = await speech.synthesize('word '.repeat(1_000).slice(0, 5_000), undefined, undefined);
    expect(most.length / 8_000).toBeGreaterThan(120);
    await expect(speech.synthesize('a'.repeat(10_000), undefined, undefined)).rejects.toMatchObject({
      code: 'invalid_request',
    });
  }, 150_000);
});
