import { type RawBuilder, sql } from 'kysely';

type Text = RawBuilder<unknown>;

/**
 * SQL: `column` is `text`, found by an index on the column's hash. Such an entry has 20 bytes whatever the text, where an
 * address and a carrier's id took 36 to 60. Two texts may share a hash.
 */
export const isText = (column: Text, text: Text): RawBuilder<boolean> =>
  sql`(hashtextextended(${column}, 0) = hashtextextended(${text}, 0) and ${column} = ${text})`;

export const isAmongTexts = (column: Text, texts: readonly string[]): RawBuilder<boolean> =>
  sql`(hashtextextended(${column}, 0) = any(array(select hashtextextended(t, 0) from unnest(${texts}::text[]) as t))
    and ${column} = any(${texts}::text[]))`;
