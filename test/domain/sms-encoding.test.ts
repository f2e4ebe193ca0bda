/** Proves how many segments a text needs. */

import fc from 'fast-check';
import { measureSms, outsideGsm7 } from '../../src/domain/sms-encoding';

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

  test('of any text are what an octet by octet packing of it takes', () => {
    const character = fc.oneof(
      { weight: 6, arbitrary: fc.constantFrom(...GSM_BASIC) },
      { weight: 2, arbitrary: fc.constantFrom(...GSM_EXTENSION) },
    );
    const wide = fc.oneof(character, fc.constantFrom('д', '🎺', '“', '\t', '\u001b', '`', 'ç', '\ud83c'));
    const text = fc.oneof(
      fc.array(character, { maxLength: 500 }),
      fc.array(wide, { maxLength: 250 }),
      fc
        .integer({ min: 145, max: 165 })
        .map((length) => [...'a'.repeat(length), '€', ...'a'.repeat(length - 1)]),
      fc
        .integer({ min: 60, max: 72 })
        .map((length) => [...'д'.repeat(length), '🎺', ...'д'.repeat(length - 2)]),
    );
    fc.assert(
      fc.property(text, (characters) => {
        const joined = characters.join('');
        expect(measureSms(joined)).toEqual(packed(joined));
        expect(outsideGsm7(joined).length > 0).toBe(packed(joined).encoding === 'ucs2');
      }),
      { numRuns: 1_000 },
    );
  });

  test('characters outside the alphabet are listed once, with their first position', () => {
    expect(outsideGsm7('a🎺b“🎺')).toEqual([
      { character: '🎺', position: 2 },
      { character: '“', position: 4 },
    ]);
    expect(outsideGsm7('{€}\n')).toEqual([]);
  });
});

/** 3GPP TS 23.038, 6.2.1: the default alphabet in the order of its codes, `null` for the escape. */
const GSM_TABLE = [
  ...['@', '£', '$', '¥', 'è', 'é', 'ù', 'ì', 'ò', 'Ç', '\n', 'Ø', 'ø', '\r', 'Å', 'å'],
  ...['Δ', '_', 'Φ', 'Γ', 'Λ', 'Ω', 'Π', 'Ψ', 'Σ', 'Θ', 'Ξ', null, 'Æ', 'æ', 'ß', 'É'],
  ...[' ', '!', '"', '#', '¤', '%', '&', "'", '(', ')', '*', '+', ',', '-', '.', '/'],
  ...['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', ':', ';', '<', '=', '>', '?'],
  ...['¡', 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'J', 'K', 'L', 'M', 'N', 'O'],
  ...['P', 'Q', 'R', 'S', 'T', 'U', 'V', 'W', 'X', 'Y', 'Z', 'Ä', 'Ö', 'Ñ', 'Ü', '§'],
  ...['¿', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l', 'm', 'n', 'o'],
  ...['p', 'q', 'r', 's', 't', 'u', 'v', 'w', 'x', 'y', 'z', 'ä', 'ö', 'ñ', 'ü', 'à'],
];
/** 6.2.1.1: by the code that follows the escape. */
const GSM_ESCAPED: Record<number, string> = {
  ...{ 10: '\f', 20: '^', 40: '{', 41: '}', 47: '\\', 60: '[', 61: '~', 62: ']', 64: '|', 101: '€' },
};
const GSM_BASIC = GSM_TABLE.filter((character) => character !== null);
const GSM_EXTENSION = Object.values(GSM_ESCAPED);

/** An independent count: the text as the codes that travel, cut into segments from the front. */
function packed(text: string) {
  const pieces = [...text].map((character) => {
    if (GSM_TABLE.includes(character)) return [GSM_TABLE.indexOf(character)];
    const escaped = Object.entries(GSM_ESCAPED).find(([, value]) => value === character);
    return escaped ? [27, Number(escaped[0])] : undefined;
  });
  const gsm = pieces.every((piece) => piece !== undefined);
  const units = gsm ? pieces : [...text].map((character) => Array.from({ length: character.length }));
  const [single, joined] = gsm ? [160, 153] : [70, 67];
  if (units.flat().length <= single) return { encoding: gsm ? 'gsm7' : 'ucs2', segments: 1 };
  const segments: unknown[][] = [[]];
  for (const unit of units) {
    if ((segments.at(-1)?.length ?? 0) + (unit?.length ?? 0) > joined) segments.push([]);
    segments.at(-1)?.push(...(unit ?? []));
  }
  return { encoding: gsm ? 'gsm7' : 'ucs2', segments: segments.length };
}
