import { type Kysely, type RawBuilder, sql } from 'kysely';
import { CHANNELS, type Channel } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import type { RecipientState } from '../../domain/recipient';
import { LATER_STAGE } from '../../domain/release';
import type { CampaignTables } from '../model/tables';
import type { RecipientSource } from './recipient-search';

/** States that are stored in a recipient's row exactly as they are shown, and that have a code. */
const CODED: readonly RecipientState[] = [
  'undelivered',
  'failed',
  'rejected',
  'suppressed',
  'expired',
  'unknown',
];

interface Wanted {
  state: RecipientState;
  channel?: Channel | undefined;
}

/**
 * Recipients in a state that few are in, by an index that exists for another reason, because an index by state would be
 * written at every change of one. Undefined when the state has no such index or too many are in it; many of them stand
 * close together, so that reading in order finds a page of them soon.
 */
export async function rareRecipients(
  db: Kysely<CampaignTables>,
  runId: string,
  wanted: Wanted,
): Promise<RecipientSource | undefined> {
  if (wanted.state === 'waiting') {
    const waiting = await countStored(db, runId, wanted);
    return waiting <= LIMITS.recipientsSorted ? found(sql`waits`, runId, wanted) : undefined;
  }
  if (!CODED.includes(wanted.state)) return undefined;
  const codes = await codesOfAll(db, runId, wanted);
  return codes && found(sql`code = any(${codes}::text[]) and code <> ${sql.lit(LATER_STAGE)}`, runId, wanted);
}

/** The offset keeps the planner from reading all of the run in its order beside the index. */
function found(condition: RawBuilder<unknown>, runId: string, { channel }: Wanted): RecipientSource {
  const channels = channel ? [channel] : CHANNELS;
  return {
    rows: sql`(select * from recipients
      where run_id = ${runId} and channel = any(${channels}::text[]) and ${condition} offset 0)`,
    matches: sql`true`,
    few: true,
  };
}

/** The codes of all recipients in the state, unless one of them has none or many recipients have these codes. */
async function codesOfAll(
  db: Kysely<CampaignTables>,
  runId: string,
  { state, channel }: Wanted,
): Promise<string[] | undefined> {
  const ofChannel = channel ? sql`channel = ${channel}` : sql`true`;
  const { rows } = await sql<{ code: string; in_state: number; in_all: number; stored: number }>`
    select code, sum(count) filter (where state = ${state})::int as in_state, sum(count)::int as in_all,
      (select coalesce(sum(count), 0) from shard_counts
        where run_id = ${runId} and ${ofChannel} and state = ${state})::int as stored
    from recipient_codes where run_id = ${runId} and ${ofChannel}
      and (select codes_counted from runs where id = ${runId})
    group by code having sum(count) filter (where state = ${state}) > 0`.execute(db);
  const sum = (of: 'in_state' | 'in_all') => rows.reduce((total, row) => total + row[of], 0);
  const isWhole = rows[0] !== undefined && sum('in_state') === rows[0].stored;
  return isWhole && sum('in_all') <= LIMITS.recipientsSorted ? rows.map(({ code }) => code) : undefined;
}

async function countStored(
  db: Kysely<CampaignTables>,
  runId: string,
  { state, channel }: Wanted,
): Promise<number> {
  const { rows } = await sql<{ n: number }>`
    select coalesce(sum(count), 0)::int as n from shard_counts
    where run_id = ${runId} and state = ${state}
      and ${channel ? sql`channel = ${channel}` : sql`true`}`.execute(db);
  return rows[0]?.n ?? 0;
}
