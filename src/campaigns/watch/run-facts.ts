import { type Kysely, sql } from 'kysely';
import type { Control, RunPhase } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { laterStage } from '../release/later-stages';
import { wantedControl } from '../stops/wanted-control';
import { holdWatch, type Watch } from './watch';

/** A run whose data has changed, with the facts that decide whether its workflow must be woken. */
export interface RunFacts {
  runId: string;
  workspaceId: string;
  /** Ids of the `run_looks` rows that this look handles. */
  ids: string[];
  tries: number;
  launch: number;
  phase: RunPhase;
  control: Control;
  /** The run's messages follow the latest change of `control`. */
  isControlApplied: boolean;
  startedAt: Date;
  isFallback: boolean;
  /**
   * For a run released in stages: a step must be taken (`due`), or the current stage may be sent by now
   * (`sending`).
   */
  stage: 'due' | 'sending' | null;
  /** Contacts wait for a stage that has not begun. */
  hasLaterStage: boolean;
  /** A page is open, or one must still be opened. */
  isSending: boolean;
  /** Recipients that have not ended. */
  open: number;
  /** How many of `open` have a message that may not have reached the service yet. */
  unsent: number;
  /** How many of `unsent` wait for a page. A call between two attempts waits for its own workflow. */
  waiting: number;
  /** When the first waiting recipient in a shard without an open page becomes due. */
  nextDue: Date | null;
}

/** Looks that were handled, and looks to come for the same runs. */
export interface SeenLooks {
  handled: readonly string[];
  later: readonly { runId: string; at: Date; tries: number }[];
}

/** `undefined` when another process watches. */
export type Looked = RunFacts[] | undefined;

/**
 * The watcher's one statement a second. It renews the watch, deletes what the previous second has handled, and
 * reads what has happened since. While nothing happens it reads one row, whatever the number of runs.
 */
export async function readLooks(db: Kysely<CampaignTables>, owner: string, seen: SeenLooks): Promise<Looked> {
  const { rows } = await sql<{ held: boolean } & (RunFacts | { runId: null })>`
    with held as (${holdWatch(watchOf(owner))}), ${putAway(seen)}, due as materialized (
      select id, run_id, tries from run_looks
      where at <= now() and id <> all (${ids(seen)}) and exists (select from held)
      order by at, id limit ${LIMITS.runLooksAtOnce}
    ), look as materialized (
      select run_id, array_agg(id::text) as ids, max(tries)::int as tries from due group by run_id
    )
    select true as held, look.run_id as "runId", look.ids, look.tries, r.workspace_id as "workspaceId",
      r.launches as launch, r.phase, ${wantedControl(sql`r`)} as control,
      r.control_applied >= r.control_changes as "isControlApplied",
      r.started_at as "startedAt", c.options ->> 'strategy' = 'fallback' as "isFallback", facts.*,
      ${STAGE} as stage, ${laterStage(sql`r.id`)} as "hasLaterStage",
      case when facts.waiting > 0 then ${NEXT_DUE} end as "nextDue"
    from held left join look on true
    left join runs r on r.id = look.run_id and r.phase in ('running', 'finishing')
    left join campaigns c on c.id = r.campaign_id
    left join lateral (${FACTS}) facts on true`.execute(db);
  if (rows.length === 0) return undefined;
  return rows.flatMap((row) => (row.runId === null ? [] : [row]));
}

/** Releases the watch, so that another process gets it with its next look. */
export async function endWatch(db: Kysely<CampaignTables>, owner: string, seen: SeenLooks): Promise<void> {
  await sql`
    with ${putAway(seen)}
    update watches set held_until = '-infinity' where name = 'runs' and owner = ${owner}`.execute(db);
}

const watchOf = (owner: string): Watch => ({ name: 'runs', owner });

const ids = ({ handled }: SeenLooks) => sql`${[...handled]}::bigint[]`;

const putAway = (seen: SeenLooks) => sql`
  put_away as (
    delete from run_looks where id = any(${ids(seen)})
  ), reminded as (
    insert into run_looks (run_id, at, tries)
    select later.* from unnest(
      ${seen.later.map(({ runId }) => runId)}::text[], ${seen.later.map(({ at }) => at.toISOString())}::timestamptz[],
      ${seen.later.map(({ tries }) => tries)}::smallint[]) as later(run_id, at, tries)
    where not exists (
      select from run_looks l where l.run_id = later.run_id and l.at <= later.at and l.id <> all (${ids(seen)}))
  )`;

/** The counts of ledger-counts.ts, as far as it matters whether there are any. */
const FACTS = sql`
  select
    coalesce(bool_or(s.next_seq < s.to_seq), false)
      or exists (select from pages p where p.run_id = r.id) as "isSending",
    (coalesce(sum(s.to_seq - s.from_seq), 0) - coalesce((
      select sum(count) filter (where state not in ('waiting', 'sending', 'accepted'))
      from shard_counts where run_id = r.id), 0))::int as open,
    (coalesce(sum(s.next_seq - s.from_seq) filter (where s.channel = 'voice'), 0) + coalesce((
      select sum(case when channel = 'voice' then -count else 0 end)
        + sum(case when state in ('waiting', 'sending') then count else 0 end)
      from shard_counts where run_id = r.id), 0))::int as unsent,
    coalesce((select sum(count) from shard_counts
      where run_id = r.id and state = 'waiting' and channel <> 'voice'), 0)::int as waiting
  from shards s where s.run_id = r.id`;

/** A stage needs nothing while a page is open, or while recipients of it are due and not sent to. */
const STAGE = sql`(
  select case
    when st.run_id is null or st.opened_at is null then 'due'
    when st.sent_at is not null then case when l.stage < l.stages and st.next_at <= clock_timestamp() then 'due' end
    when not exists (select from pages p where p.run_id = r.id) and (
      st.begun_at <= clock_timestamp() - ${sql.lit(LIMITS.stageHeldMs)} * interval '1 millisecond' or not exists (
      select from shards s cross join lateral (
        select from recipients w
        where w.run_id = s.run_id and w.channel = s.channel and w.shard = s.shard and w.waits
          and w.retry_at <= now() and w.attempt = 0 limit 1
      ) due where s.run_id = r.id)) then 'sending' end
  from run_releases l left join run_stages st on st.run_id = l.run_id and st.stage = l.stage
  where l.run_id = r.id and l.closed_at is null)`;

const NEXT_DUE = sql`(
  select min(first.retry_at) from shards s cross join lateral (
    select w.retry_at from recipients w
    where w.run_id = s.run_id and w.channel = s.channel and w.shard = s.shard and w.waits and w.retry_at is not null
    order by w.retry_at limit 1
  ) first
  where s.run_id = r.id and s.channel <> 'voice' and not exists (
    select from pages p where p.run_id = s.run_id and p.channel = s.channel and p.shard = s.shard))`;
