import fc from 'fast-check';

/** What breaks parsers: ends of things, other alphabets, numbers at their bounds. */
const TOKENS = [
  ...[
    '',
    '\0',
    '\n',
    '\r\n',
    '"',
    "'",
    '<',
    '>',
    '</',
    '&',
    '&#',
    ';',
    ',',
    '=',
    '{{',
    '}}',
    '--b',
    '\ufeff',
    '\ud83d',
    '\u2028',
  ],
  ...[
    '-1',
    '0',
    '2147483648',
    '9007199254740993',
    '1e400',
    'null',
    '__proto__',
    'constructor',
    '%00',
    '../',
    '=?utf-8?Q?',
  ],
].map((token) => Buffer.from(token));

const edits = fc.array(
  fc.record({
    at: fc.double({ min: 0, max: 1, noNaN: true }),
    removed: fc.oneof(fc.nat(3), fc.nat(60)),
    added: fc.oneof(
      fc.constantFrom(...TOKENS),
      fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
    ),
    times: fc.oneof(fc.constant(1), fc.nat(400)),
  }),
  { maxLength: 8 },
);

/** Documents that are nearly right, since random bytes are refused at their first. */
export const mutated = (seeds: readonly string[]): fc.Arbitrary<Buffer> =>
  fc.oneof(
    fc.tuple(fc.constantFrom(...seeds), edits).map(([seed, all]) => {
      let bytes = Buffer.from(seed);
      for (const { at, removed, added, times } of all) {
        const start = Math.floor(at * bytes.length);
        const between = Buffer.concat(Array.from({ length: times }, () => added));
        bytes = Buffer.concat([bytes.subarray(0, start), between, bytes.subarray(start + removed)]);
      }
      return bytes;
    }),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
  );
