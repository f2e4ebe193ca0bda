import fc from 'fast-check';
import { measureSms } from '../../../src/domain/sms-encoding';
import { encodeSms, type SmsPart } from '../../../src/providers/smpp/encode-sms';
import { readInbound } from '../../../src/providers/smpp/inbound-text';
import type { Pdu } from '../../../src/providers/smpp/library';
import { createReferences } from '../../../src/providers/smpp/submit';

const encode = (text: string): SmsPart[] => encodeSms(text, () => 7);
const asPdu = ({ dataCoding, octets, hasHeader }: SmsPart) =>
  ({ data_coding: dataCoding, short_message: octets, esm_class: hasHeader ? 0x40 : 0 }) as Pdu;
const textOf = (part: SmsPart): string => readInbound(asPdu(part))?.text ?? '';

const gsm = fc.constantFrom(
  ...'@£$¥èéùìòÇ\nØøÅåΔ_ΦΓΛΩΠΨΣΘΞÆæßÉ !"#¤%&()*+,-./09:;<=>?¡AZÄÖÑÜ§¿azäöñüà\f^{}\\[~]|€',
);
const texts = fc.oneof(
  fc.array(gsm, { maxLength: 700 }).map((characters) => characters.join('')),
  fc.string({ unit: 'grapheme', maxLength: 300 }),
  fc
    .array(fc.constantFrom('a', '€', '🎺', 'ж', '\ud83d'), { maxLength: 320 })
    .map((characters) => characters.join('')),
);

describe('a text as SMPP carries it', () => {
  test('has as many parts, in the alphabet, as it is measured to have', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const parts = encode(text);
        const { segments, encoding } = measureSms(text);
        expect([parts.length, parts[0]?.dataCoding]).toEqual([segments, encoding === 'gsm7' ? 0 : 8]);
      }),
    );
  });

  test('is the text again when its parts are read and put together', () => {
    fc.assert(fc.property(texts, (text) => expect(encode(text).map(textOf).join('')).toBe(text)));
  });

  test('no part of which is longer than its field, or breaks an escape or a surrogate pair', () => {
    fc.assert(
      fc.property(texts, (text) => {
        for (const part of encode(text)) {
          const sizeMax = part.dataCoding === 8 ? 140 : part.hasHeader ? 6 + 153 : 160;
          expect(part.octets.length).toBeLessThanOrEqual(sizeMax);
          const [first = '', last = ''] = [textOf(part).at(0), textOf(part).at(-1)];
          if (part.dataCoding === 0) expect(part.octets.at(-1)).not.toBe(0x1b);
          const isCut = /[\udc00-\udfff]/.test(first) || /[\ud800-\udbff]/.test(last);
          if (text.isWellFormed()) expect(isCut).toBe(false);
        }
      }),
    );
  });

  test.each([
    [`${'x'.repeat(152)}€${'x'.repeat(50)}`, [6 + 152, 6 + 52]],
    [`${'ж'.repeat(66)}🎺${'ж'.repeat(20)}`, [6 + 132, 6 + 44]],
  ])('leaves a part shorter rather than break what is at its end', (text, lengths) => {
    expect(encode(text).map(({ octets }) => octets.length)).toEqual(lengths);
  });

  test('counts its parts in the header that joins them', () => {
    const headers = encode('x'.repeat(400)).map(({ octets }) => [...octets.subarray(0, 6)]);
    expect(headers).toEqual([1, 2, 3].map((number) => [5, 0, 3, 7, 3, number]));
  });

  test('in GSM-7 is one octet for each septet', () => {
    expect([...(encode('@_€{à')[0]?.octets ?? [])]).toEqual([0x00, 0x11, 0x1b, 0x65, 0x1b, 0x28, 0x7f]);
  });
});

describe('references', () => {
  test('of one destination come again after 255 others', () => {
    const next = createReferences()('+12025550123');
    const numbers = Array.from({ length: 257 }, next);
    expect(new Set(numbers.slice(0, 256)).size).toBe(256);
    expect(numbers[256]).toBe(numbers[0]);
  });
});
