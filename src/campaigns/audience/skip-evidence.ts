import { type RawBuilder, sql } from 'kysely';
import { requiredNames } from '../contacts/fill-params';
import type { Audience } from './audience-sql';

/**
 * SQL over a row of `ranked` whose contact is left out: the evidence to store. Other reasons need none. They
 * are in the row itself, or in the ledger, which keeps the recipient with the same address and those of
 * excluded campaigns.
 */
export function skipEvidence({ placeholders, suppressionOf }: Audience): RawBuilder<unknown> {
  const entry = suppressionOf ? suppressionOf(sql`ranked.address`) : sql`null::jsonb`;
  return sql`case ranked.reason
    when 'suppressed' then (select jsonb_build_object('suppression', found) from (select ${entry} as found) one
      where found is not null)
    when 'missing_params' then (select jsonb_build_object('missing', jsonb_agg(name order by name))
      from unnest(${requiredNames(placeholders)}::text[]) as name where not ranked.params ? name)
  end`;
}
