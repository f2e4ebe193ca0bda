/** Proves which texts of subscribers mean stop, start or help, in each language. */

import { readKeyword } from '../../src/domain/opt-out-keywords';
import { LANGUAGES, PACKS } from '../../src/domain/opt-out-packs';
import { measureSms } from '../../src/domain/sms-encoding';
import { cpuMs } from '../support/cpu-time';

const read = (text: string) => {
  const reading = readKeyword(text);
  return reading.action === 'none' ? 'none' : `${reading.action} ${reading.match}`;
};

describe('keywords of subscribers', () => {
  test.each([
    'STOP',
    'stop',
    '  Stop.  ',
    '"STOP!"',
    'S.T.O.P.',
    's t o p',
    'ST\u200bOP',
    '\uff33\uff34\uff2f\uff30',
    'STOP \u{1f6d1}',
    'StopAll',
    'stop all',
    'UNSUBSCRIBE',
    'cancel',
    'End',
    'QUIT',
    'revoke',
    'OptOut',
    'opt out',
    'opt-out',
  ])('%j stops', (text) => expect(read(text)).toBe('stop exact'));

  test.each([
    'Stop please',
    'stop, please',
    'QUIT it',
    'Please stop',
    'can you opt me out?',
    'REMOVE ME from this',
    "Don't text me again",
    'Dont text',
    'Bitte keine Nachrichten mehr!',
  ])('%j stops, and says that it was not the keyword alone', (text) => expect(read(text)).toBe('stop fuzzy'));

  test.each([
    ['START', 'start exact'],
    ['Yes!', 'start exact'],
    ['unstop', 'start exact'],
    ['help', 'help exact'],
    ['INFO?', 'help exact'],
    ['yes please', 'none'],
    ['help me', 'none'],
    ['start over', 'none'],
    ['When does the bus stop here?', 'none'],
    ['unstoppable', 'none'],
    ['', 'none'],
    ['\u{1f44d}', 'none'],
  ])('%j means %s', (text, meaning) => expect(read(text)).toBe(meaning));

  test.each([
    ['Abmelden', 'de'],
    ['KÜNDIGEN', 'de'],
    ['Baja', 'es'],
    ['Arrêt', 'fr'],
    ['désabonner', 'fr'],
    ['Annulla', 'it'],
    ['SAIR', 'pt'],
    ['Afmelden', 'nl'],
  ])('%s stops, in whatever language the messages were', (text, language) => {
    expect(readKeyword(text)).toMatchObject({ action: 'stop', match: 'exact', language });
  });

  test('no word stops in one language and does something else in another', () => {
    const of = (kind: 'stop' | 'start' | 'help') => LANGUAGES.flatMap((one) => [...PACKS[one][kind]]);
    const stopping = new Set(of('stop'));
    expect([...of('start'), ...of('help')].filter((word) => stopping.has(word))).toEqual([]);
    expect(of('start').filter((word) => of('help').includes(word))).toEqual([]);
  });

  test('every word and phrase of the packs is found as it is written', () => {
    for (const language of LANGUAGES) {
      const { stop, phrases, start, help } = PACKS[language];
      for (const word of stop) expect([word, read(word)]).toEqual([word, 'stop exact']);
      for (const phrase of phrases) expect([phrase, read(`x ${phrase} y`)]).toEqual([phrase, 'stop fuzzy']);
      for (const word of start) expect([word, read(word)]).toEqual([word, 'start exact']);
      for (const word of help) expect([word, read(word)]).toEqual([word, 'help exact']);
    }
  });

  test('every answer is one segment, and names the word that takes it back', () => {
    for (const language of LANGUAGES) {
      const { stop, start, help } = PACKS[language].texts;
      for (const text of [stop, start, help]) {
        expect([text, measureSms(text)]).toEqual([text, { encoding: 'gsm7', segments: 1 }]);
      }
      expect(stop).toContain('START');
      expect(start).toContain('STOP');
      expect(help).toContain('STOP');
    }
  });

  test('what it says of a text is a word of ours', () => {
    expect(readKeyword('stop, or I call +12025550123')).toEqual({
      action: 'stop',
      keyword: 'STOP',
      match: 'fuzzy',
      language: 'en',
    });
  });

  test('a text of a megabyte takes less than half a second', () => {
    expect(cpuMs(() => readKeyword('a '.repeat(500_000)))).toBeLessThan(500);
  });
});
