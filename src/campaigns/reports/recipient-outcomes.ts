import { type Kysely, sql } from 'kysely';
import { CHANNELS } from '../../domain/channel';
import { LIMITS } from '../../domain/limits';
import { RECIPIENT_STATES, type RecipientOutcome } from '../../domain/recipient';
import { LATER_STAGE } from '../../domain/release';
import { derivedState } from '../ledger/derived-state';
import type { CampaignTables } from '../model/tables';
import { readCounts } from '../runs/ledger-counts';

/**
 * The largest first. Recipients with a code have counters of their own; those without one are what remains of the
 * counters of states. So it costs the same for a thousand recipients and for a million. Runs from before the counters of
 * codes are counted by the codes' index.
 */
export async function readOutcomes(
  db: Kysely<CampaignTables>,
  runId: string | undefined,
): Promise<RecipientOutcome[]> {
  if (runId === undefined) return [];
  const run = await db
    .selectFrom('runs')
    .select(['outcomes', 'codes_counted'])
    .where('id', '=', runId)
    .executeTakeFirst();
  if (run?.outcomes) return run.outcomes;
  return db
    .transaction()
    .setIsolationLevel('repeatable read')
    .setAccessMode('read only')
    .execute(async (tx) => {
      const coded = run?.codes_counted
        ? await readCoded(tx, runId)
        : [...(await countCoded(tx, runId)), ...(await countLaterStages(tx, runId))];
      const counts = await readCounts(tx, runId);
      const outcomes: RecipientOutcome[] = coded.filter(({ count }) => count > 0);
      for (const channel of CHANNELS) {
        for (const state of RECIPIENT_STATES) {
          const known = coded.filter((one) => one.channel === channel && one.state === state);
          const rest = (counts[channel]?.[state] ?? 0) - known.reduce((sum, { count }) => sum + count, 0);
          if (rest > 0) outcomes.push({ channel, state, code: null, count: rest });
        }
      }
      return outcomes.sort(byCount).slice(0, LIMITS.outcomesListed);
    });
}

const byCount = (one: RecipientOutcome, other: RecipientOutcome) =>
  other.count - one.count ||
  CHANNELS.indexOf(one.channel) - CHANNELS.indexOf(other.channel) ||
  RECIPIENT_STATES.indexOf(one.state) - RECIPIENT_STATES.indexOf(other.state) ||
  (one.code ?? '').localeCompare(other.code ?? '');

/**
 * A pending recipient has no code, so that of the derived states (ledger.ts) only one concerns the counters: those whose
 * retry is under way are stored as waiting. They are as many as the run's open pages hold, and are found by key.
 */
async function readCoded(db: Kysely<CampaignTables>, runId: string): Promise<RecipientOutcome[]> {
  const { rows } = await sql<RecipientOutcome>`
    with retried as materialized (
      select p.channel, r.code, count(*)::int as n from pages p
      cross join lateral (
        select code from recipients where run_id = ${runId} and channel = p.channel and seq = any(p.seqs)
          and state = 'waiting' and code is not null
      ) r
      where p.run_id = ${runId} and p.seqs is not null group by p.channel, r.code
    )
    select channel, state, code, sum(n)::int as count from (
      select channel, state, code, count as n from recipient_codes where run_id = ${runId}
      union all select channel, 'waiting', code, -n from retried
      union all select channel, 'sending', code, n from retried
    ) counted group by channel, state, code`.execute(db);
  return rows;
}

/**
 * Only a recipient that is stored as pending or waiting can be shown as something else, so that the others, nearly all,
 * are counted without a look at their shard and its pages.
 */
async function countCoded(db: Kysely<CampaignTables>, runId: string): Promise<RecipientOutcome[]> {
  const coded = sql`r.run_id = ${runId} and r.code is not null and r.code <> ${sql.lit(LATER_STAGE)}`;
  const { rows } = await sql<RecipientOutcome>`
    select channel, state, code, sum(n)::int as count from (
      select r.channel, r.state, r.code, count(*) as n from recipients r
      where ${coded} and r.state not in ('pending', 'waiting')
      group by r.channel, r.state, r.code
      union all
      select r.channel, ${derivedState}, r.code, 1
      from recipients r
      join shards s on s.run_id = r.run_id and s.channel = r.channel and s.shard = r.shard
      join runs on runs.id = r.run_id
      where ${coded} and r.state in ('pending', 'waiting')
    ) coded group by channel, state, code`.execute(db);
  return rows;
}

/** Recipients of stages to come have no index of their own: only a run that is released in stages has any. */
async function countLaterStages(db: Kysely<CampaignTables>, runId: string): Promise<RecipientOutcome[]> {
  const { rows } = await sql<RecipientOutcome>`
    select r.channel, r.state, r.code, count(*)::int as count from recipients r
    where r.run_id = ${runId} and r.waits and r.retry_at is null and r.code = ${LATER_STAGE}
      and exists (select from run_releases where run_id = ${runId})
    group by r.channel, r.state, r.code`.execute(db);
  return rows;
}
