import { measureSms } from '../../src/domain/sms-encoding';

describe('SMS segments', () => {
  test.each([
    ['', 'gsm7', 1],
    ['a'.repeat(160), 'gsm7', 1],
    ['a'.repeat(161), 'gsm7', 2],
    ['a'.repeat(306), 'gsm7', 2],
    ['a'.repeat(307), 'gsm7', 3],
    ['€'.repeat(80), 'gsm7', 1],
    ['€'.repeat(81), 'gsm7', 2],
    ['Ünïcode: é, ñ and Å are in the table, ï is not', 'ucs2', 1],
    ['[~]{}^\\|', 'gsm7', 1],
    ['д'.repeat(70), 'ucs2', 1],
    ['д'.repeat(71), 'ucs2', 2],
    ['д'.repeat(135), 'ucs2', 3],
    ['🎺'.repeat(35), 'ucs2', 1],
    ['`', 'ucs2', 1],
  ] as const)('of %j: %s, %i', (text, encoding, segments) => {
    expect(measureSms(text)).toEqual({ encoding, segments });
  });

  test('an escaped character is not cut in two, which can cost a segment', () => {
    // 152 + 2 do not fit in 153: the escape moves to the second segment as a whole.
    const text = `${'a'.repeat(152)}€${'a'.repeat(151)}`;
    expect(measureSms(text)).toEqual({ encoding: 'gsm7', segments: 2 });
    expect(measureSms(`${text}a`)).toEqual({ encoding: 'gsm7', segments: 3 });
  });

  test('a surrogate pair is not cut in two either', () => {
    const text = `${'д'.repeat(66)}🎺${'д'.repeat(65)}`;
    expect(measureSms(text)).toEqual({ encoding: 'ucs2', segments: 2 });
    expect(measureSms(`${text}д`)).toEqual({ encoding: 'ucs2', segments: 3 });
  });
});
