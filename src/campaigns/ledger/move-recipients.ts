import { type Kysely, type RawBuilder, sql } from 'kysely';
import { RECIPIENT_STATES, type RecipientState } from '../../domain/recipient';
import { MOVES, type MoveName, type MoveRule, mayMove } from '../../domain/recipient-transitions';
import type { CampaignTables } from '../model/tables';
import { addToCodes } from './code-counts';
import { rank } from './rank';
import { addToTimeline } from './timeline';

/**
 * The only statements that update recipients. A caller gives a rule, and either rows that name recipients or a
 * condition that finds them. The statement moves the recipients in the scope as far as the rule allows, and
 * updates the counters of the shards and of the codes.
 *
 * Each recipient is found by their whole key, never by the run as a parameter. The planner has no statistics
 * for a run that was frozen a moment ago; it expects a few rows, and would read the whole run for every chunk.
 */
export type Move = NamedMove | FoundMove;

interface NamedMove {
  scope: Scope;
  rule: MoveName;
  /**
   * A query with `run_id`, `channel`, `seq`, the new `state`, and the columns of `result` that `when` and `set`
   * read.
   */
  rows: RawBuilder<unknown>;
  /** Condition beyond the rule, over `r` (the recipient) and `result`. */
  when?: RawBuilder<unknown>;
  /** Changes besides the state, over `r` as it was and `result`. */
  set?: Changes;
}

interface FoundMove {
  scope: { runId: string };
  rule: MoveName;
  /** Condition beyond the rule, over the run's recipients `r`. */
  where: RawBuilder<unknown>;
  /** The new state of all of them. */
  state: RecipientState;
  /** Further columns of a query over `r` as it was, which `set` reads as `result`. */
  columns: RawBuilder<unknown>;
  set?: Changes;
}

/**
 * Which recipients the rows may name. Rows from outside may name any run, so only runs of the workspace are
 * moved. A run's own pages, calls and control move recipients of that run only.
 */
export type Scope = { workspaceId: string; runIds: readonly string[] } | { runId: string };

export type Changes = Partial<Record<Column, RawBuilder<unknown>>>;

type Column = Exclude<
  keyof CampaignTables['recipients'],
  | 'run_id'
  | 'channel'
  | 'seq'
  | 'shard'
  | 'contact_id'
  | 'address'
  | 'params'
  | 'place'
  | 'turn'
  | 'waits'
  | 'state'
>;

/** How many recipients came to each state. Those in `waiting` have something due; those in `unknown` are in doubt. */
export type Moved = Partial<Record<RecipientState, number>>;

export async function moveRecipients(db: Kysely<CampaignTables>, move: Move): Promise<Moved> {
  const { rows } = await sql<{ state: RecipientState; moved: number }>`
    with ${moving(move)}
    select new_state as state, count(*)::int as moved from written group by new_state`.execute(db);
  return Object.fromEntries(rows.map(({ state, moved }) => [state, moved]));
}

/** The same as parts of a larger statement: CTEs, of which the last are `written`, `counted`, `coded` and `entered`. */
export function moving(move: Move): RawBuilder<unknown> {
  return sql`
    ${'rows' in move ? named(move) : found(move)}, written as (
      update recipients r set ${assignments({ updated_at: sql`now()`, ...move.set })}, state = result.state
      from locked result
      where r.run_id = result.run_id and r.channel = result.channel and r.seq = result.seq
      returning r.run_id, r.channel, r.shard, result.old_state, result.old_code, r.state as new_state, r.code as new_code
    ), counted as (${addToCounts}), coded as (${addToCodes}), entered as (${addToTimeline})`;
}

function named({ scope, rule, rows, when }: NamedMove): RawBuilder<unknown> {
  return sql`
    ${scoped(scope, rows)}, locked as (
      select result.*, r.state as old_state, r.code as old_code from recipients r join named result using (run_id, channel, seq)
      where ${allowed(MOVES[rule])} and ${when ?? sql`true`}
      for update of r
    )`;
}

function found({ scope, rule, where, state, columns }: FoundMove): RawBuilder<unknown> {
  const from = RECIPIENT_STATES.filter((one) => mayMove(rule, one, state));
  return sql`
    locked as (
      select r.run_id, r.channel, r.seq, r.state as old_state, r.code as old_code, ${state}::text as state, ${columns} from recipients r
      where r.run_id = ${scope.runId} and ${among('r.state', from)} and ${where}
      for update of r
    )`;
}

/** Changes what a recipient waits for, or other facts about them. State and counts stay. */
export async function amendRecipients(
  db: Kysely<CampaignTables>,
  { scope, rows, when, set }: Omit<NamedMove, 'rule'> & { set: Changes },
): Promise<void> {
  const wanted = when ?? sql`true`;
  if (set.code === undefined) {
    await sql`
      with ${scoped(scope, rows)}
      update recipients r set ${assignments(set)} from named result
      where r.run_id = result.run_id and r.channel = result.channel and r.seq = result.seq
        and ${wanted}`.execute(db);
    return;
  }
  await sql`
    with ${scoped(scope, rows)}, locked as (
      select result.*, r.code as old_code from recipients r join named result using (run_id, channel, seq)
      where ${wanted} for update of r
    ), written as (
      update recipients r set ${assignments(set)} from locked result
      where r.run_id = result.run_id and r.channel = result.channel and r.seq = result.seq
      returning r.run_id, r.channel, r.shard, r.state as old_state, result.old_code, r.state as new_state,
        r.code as new_code
    ) ${addToCodes}`.execute(db);
}

function scoped(scope: Scope, rows: RawBuilder<unknown>): RawBuilder<unknown> {
  if ('runId' in scope) {
    return sql`named as materialized (select given.* from (${rows}) given where given.run_id = ${scope.runId})`;
  }
  const own = ownRuns(scope);
  const isOwn =
    scope.runIds.length > FEW_RUNS ? sql`given.run_id in (${own})` : sql`given.run_id = any(array(${own}))`;
  return sql`named as materialized (select given.* from (${rows}) given where ${isOwn})`;
}

/**
 * Up to this number, run ids are compared one by one. That makes a page of 1,000 events a tenth cheaper than a
 * hash of the runs.
 */
const FEW_RUNS = 16;

/** SQL: which of the runs belong to the workspace. */
export const ownRuns = ({ workspaceId, runIds }: { workspaceId: string; runIds: readonly string[] }) => sql<{
  id: string;
}>`
  select id from runs where id = any(${runIds}::text[]) and workspace_id = ${workspaceId}`;

function allowed({ from, to, rank }: MoveRule): RawBuilder<unknown> {
  return sql`${among('r.state', from)} and ${among('result.state', to)} and ${RANKED[rank]}`;
}

/** A list of all states needs no condition. */
function among(column: 'r.state' | 'result.state', states: readonly RecipientState[]): RawBuilder<unknown> {
  if (states.length === RECIPIENT_STATES.length) return sql`true`;
  return sql`${sql.ref(column)} in (${sql.join(states.map((state) => sql.lit(state)))})`;
}

const RANKED: Record<MoveRule['rank'], RawBuilder<unknown>> = {
  above: sql`${rank('result.state')} > ${rank('r.state')}`,
  notBelow: sql`${rank('result.state')} >= ${rank('r.state')}`,
  aboveUnlessAnew: sql`(${rank('result.state')} > ${rank('r.state')} or result.attempt > r.attempt)`,
  any: sql`true`,
};

const assignments = (set: Changes) =>
  sql.join(Object.entries(set).map(([column, value]) => sql`${sql.ref(column)} = ${value}`));

/** Reads `written`, which has the shard, old state and new state of each row. */
const addToCounts = sql`
  insert into shard_counts (run_id, channel, shard, state, count)
  select run_id, channel, shard, state, sum(n)::int from (
    select run_id, channel, shard, new_state as state, 1 as n from written
    union all
    select run_id, channel, shard, old_state, -1 from written where old_state <> 'pending'
  ) moves group by run_id, channel, shard, state having sum(n) <> 0
  order by run_id, channel, shard, state
  on conflict (run_id, channel, shard, state) do update set count = shard_counts.count + excluded.count`;
