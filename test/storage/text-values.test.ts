import { sql } from 'kysely';
import { textOf } from '../../src/storage/postgres';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('arrays as text', (database) => {
  test.each<[string, (string | null)[]]>([
    ['plain', ['a', 'b c', '']],
    ['null beside the word', [null, 'NULL', 'null', 'Null']],
    ['quotes and backslashes', ['"', '\\', '\\"', '\\\\n', '\\n', 'a\\b']],
    ['control characters', ['line\nbreak', 'tab\t', '\u0001\u001f', '\b\f\r', '\u007f']],
    ['control characters beside plain ones', ['a', 'b"\n', null]],
    ['braces and commas', ['{a,b}', ',', '{}', ' spaced ']],
    ['beyond ASCII', ['é', '\u{1f3ba}', '\u2028', '\ufeff']],
    ['JSON', [JSON.stringify({ text: 'a "quoted"\nline \\ and \u0001' }), '{}']],
    ['none', []],
  ])('%s arrive as they are', async (_, texts) => {
    const storage = await database.open();
    const { rows } = await sql<{ back: (string | null)[] }>`
      select ${textOf(texts)}::text[] as back`.execute(storage.tables());
    expect(rows[0]?.back).toEqual(texts);
  });

  test('numbers, absent values and arrays in arrays', async () => {
    const storage = await database.open();
    const { rows } = await sql<{ ints: unknown; floats: unknown; nested: unknown }>`
      select ${textOf([1, undefined, -2])}::int[] as ints,
        ${textOf([0.1, 1e21, Number.NaN, Number.POSITIVE_INFINITY])}::float8[] as floats,
        ${textOf([
          ['a"', 'b'],
          ['c', '\n'],
        ])}::text[] as nested`.execute(storage.tables());
    expect(rows[0]).toEqual({
      ints: [1, null, -2],
      floats: [0.1, 1e21, Number.NaN, Number.POSITIVE_INFINITY],
      nested: [
        ['a"', 'b'],
        ['c', '\n'],
      ],
    });
  });
});
