import { type RawBuilder, sql, type Transaction } from 'kysely';
import { databaseNow } from '../../domain/database-clock';
import { EARLIER_CHANNEL } from '../../domain/fallback';
import type { SkipReason } from '../../domain/recipient';
import { LATER_STAGE } from '../../domain/release';
import { requiredNames } from '../contacts/fill-params';
import { addEntered } from '../ledger/timeline';
import type { CampaignTables } from '../model/tables';
import type { AudienceInput } from './audience';
import { type Audience, type AudiencePiece, pieceMembers, rankedContacts } from './audience-sql';
import { dueSeconds, placesOfRun, UNKNOWN_PLACE } from './audience-time-zones';

export interface FrozenPiece {
  /** The last contact of the piece; null when none was left. */
  lastId: string | null;
  contacts: number;
  recipients: number;
  skipped: Partial<Record<SkipReason, number>>;
  /** No list has contacts after the last one. */
  isLast: boolean;
}

/**
 * Judges the next contacts of a run's audience. It writes those who can be sent to as recipients of `shard`,
 * numbered from `fromSeq` in due order. A contact who is left out is counted under the first reason that
 * applies, and stored with it.
 */
export async function freezePiece(
  tx: Transaction<CampaignTables>,
  input: AudienceInput,
  { fromSeq, shard, ...piece }: Omit<AudiencePiece, 'runId'> & { fromSeq: number; shard: number },
): Promise<FrozenPiece> {
  const { runId, channel } = input;
  const part = { runId, ...piece };
  // The planner has no statistics for rows that were written a moment ago. It would read the whole run for each piece,
  // and of a list all that is left of it, to sort it.
  await sql`select set_config('enable_seqscan', 'off', true), set_config('enable_bitmapscan', 'off', true)`.execute(
    tx,
  );
  const places = await placesOfRun(tx, input, pieceMembers(input, part));
  const dueOfAll = dueSeconds(input.hours ?? {}, channel, databaseNow());
  const due = places?.dueAt ?? sql`coalesce(to_timestamp(${dueOfAll(UNKNOWN_PLACE)}::float8), now())`;
  const order = places ? sql`due_at, id` : sql`id`;
  const first = firstState(input);
  const { rows } = await sql<Row>`
    with ${rankedContacts(input, places, part)}, due as (
      select *, ${due} as due_at from ranked where reason is null
    ), inserted as (
      insert into recipients (run_id, channel, seq, shard, contact_id, address, params, place, due_at${first.columns})
      select ${runId}, ${channel}, ${fromSeq}::int - 1 + row_number() over (order by ${order}), ${shard}::int, id, address,
        params, place, due_at${first.values} from due
    ), entered as (
      ${addEntered({ runId, channel, shard }, first.state, sql`(select count(*) from due)`)}
    ), left_out as (
      insert into skipped_contacts (run_id, channel, contact_id, reason, address, evidence)
      select ${runId}, ${channel}, id, reason, address, ${skipEvidence(input)} from ranked where reason is not null
    )
    select (select max(contact_id) from member) as last_id, (select count(*) from member)::int as contacts,
      (select count(*) from due)::int as recipients,
      (select coalesce(jsonb_object_agg(reason, n), '{}') from (
        select reason, count(*) as n from ranked where reason is not null group by reason) reasons) as skipped,
      not exists (select from more)
        and not exists (select from listed where contact_id > (select max(contact_id) from member)) as is_last`.execute(
    tx,
  );
  const [row] = rows as [Row];
  return { ...row, lastId: row.last_id, isLast: row.is_last };
}

interface Row extends Pick<FrozenPiece, 'contacts' | 'recipients' | 'skipped'> {
  last_id: string | null;
  is_last: boolean;
}

/**
 * Recipients of later channels wait until their channel is opened (fallback-turns.ts), even those without an
 * earlier channel, whose channel opens at once. In a campaign released in stages, all recipients wait for their
 * stage first, because the order is drawn from the whole audience.
 */
function firstState({ channel, turn, isStaged }: AudienceInput) {
  const isLater = turn !== undefined && turn > 0;
  const ofTurn = turn === undefined ? NOTHING : { columns: sql`, turn`, values: sql`, ${turn}::int` };
  if (!isLater && !isStaged) return { ...ofTurn, state: 'pending' as const };
  const code = isStaged ? LATER_STAGE : EARLIER_CHANNEL;
  return {
    state: 'waiting' as const,
    columns: sql`${ofTurn.columns}, state, code, call_from`,
    values: sql`${ofTurn.values}, 'waiting', ${code}, ${channel === 'voice' ? 1 : null}::int`,
  };
}

const NOTHING = { columns: sql``, values: sql`` };

/**
 * SQL over a row of `ranked` whose contact is left out: the evidence to store. Other reasons need none. They
 * are in the row itself, or in the ledger, which keeps the recipient with the same address and those of
 * excluded campaigns.
 */
function skipEvidence({ placeholders, suppressionOf }: Audience): RawBuilder<unknown> {
  const entry = suppressionOf ? suppressionOf(sql`ranked.address`) : sql`null::jsonb`;
  return sql`case ranked.reason
    when 'suppressed' then (select jsonb_build_object('suppression', found) from (select ${entry} as found) one
      where found is not null)
    when 'missing_params' then (select jsonb_build_object('missing', jsonb_agg(name order by name))
      from unnest(${requiredNames(placeholders)}::text[]) as name where not ranked.params ? name)
  end`;
}
