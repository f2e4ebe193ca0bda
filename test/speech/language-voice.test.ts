/** Proves which of the engine’s voices speaks a language. */

import { voiceFor } from '../../src/speech/espeak-synthesizer';

const VOICES = ['en-us', 'en-gb', 'de', 'fr-fr', 'fr-be', 'pt', 'pt-br', 'es', 'es-419', 'cmn', 'nb'].map(
  (language) => ({ language, priority: language === 'fr-be' ? 8 : 5 }),
);

describe('the voice for a language', () => {
  test.each([
    [undefined, 'en-us'],
    ['en', 'en-us'],
    ['en-US', 'en-us'],
    ['en_GB', 'en-gb'],
    ['en-AU', 'en-us'],
    ['de-DE', 'de'],
    ['de-1996', 'de'],
    ['fr', 'fr-fr'],
    ['fr-CA', 'fr-fr'],
    ['fr-BE', 'fr-be'],
    ['pt-BR', 'pt-br'],
    ['pt-PT', 'pt'],
    ['es-MX', 'es-419'],
    ['es-ES', 'es'],
    ['zh-Hans-CN', 'cmn'],
    ['no', 'nb'],
  ])('of %s is %s', (tag, voice) => {
    expect(voiceFor(VOICES, tag, undefined)).toBe(voice);
  });

  test('is undefined for a language that is not spoken, or is no language', () => {
    for (const tag of ['tlh', '', '-v', '../x', 'constructor', '__proto__']) {
      expect(voiceFor(VOICES, tag, undefined)).toBeUndefined();
    }
  });

  test('is a woman where the flow asks for one; other names are left out of account', () => {
    expect(voiceFor(VOICES, 'de', 'woman')).toBe('de+f2');
    expect(voiceFor(VOICES, 'de', '-f /etc/passwd')).toBe('de');
  });
});
