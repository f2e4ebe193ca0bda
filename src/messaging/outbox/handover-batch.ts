import { type Kysely, sql } from 'kysely';
import { eventOf, eventsWritten, historyEntry, historyText, type NewEvent } from '../events/event-rows';
import { isSuppressed } from '../suppression/suppression-check';
import type { MessagingTables } from '../tables';
import type { Lane } from './lanes';
import type { OutgoingMessage } from './outgoing';
import type { Verdict } from './verdict';

/**
 * A batch is one row, written before anything leaves and deleted in the statement that records what
 * became of it. Whoever deletes the row may record; for anybody else there is nothing left to say. So
 * a batch has one record, whoever else believes to own its lane.
 */
export interface Batch {
  readonly id: string;
  readonly lane: Lane;
  readonly provider: string;
  readonly messages: readonly OutgoingMessage[];
}

export type OpenOutcome =
  /** Without those whose recipients are blocked; when all are, there is no batch. */
  | { kind: 'opened'; suppressed: ReadonlySet<string> }
  /** Messages with these tags must wait. */
  | { kind: 'held'; campaigns: string[] }
  /** The lane's fence or its count of cancels is not what we know, or a message was canceled. */
  | { kind: 'lane_changed' };

/**
 * Opens the batch, unless a tag in it is held, the lane is not ours, or a message was canceled: the lane's
 * count tells of those since this statement began, the messages' states of those before. Memory is not
 * asked, since a message may come into it, or be between two queues, when its cancel is heard of. The lock
 * on the lane makes canceling wait for us, or us for it. A block that was committed before this statement
 * began keeps its messages out of the batch.
 */
export async function openBatch(
  db: Kysely<MessagingTables>,
  batch: Batch,
  workspaceId: string,
): Promise<OpenOutcome> {
  const { id, lane, provider, messages } = batch;
  const campaigns = [...new Set(messages.map((message) => message.campaign))].filter(isText);
  const ids = messages.map((message) => message.id);
  // In most lanes nothing is ever canceled, and then nothing has to be looked at.
  const perhapsCanceled = lane.cancels === 0 ? [] : ids;
  const { rows } = await sql<{ lanes: number; held: string[] | null; suppressed: string[] | null }>`
    with lane as (
      select id from dispatch_lanes
      where id = ${lane.id} and fence = ${lane.fence} and cancels = ${lane.cancels} and not exists (
        select 1 from messages
        where id = any(${perhapsCanceled}::text[]) and state not in ('scheduled', 'accepted')
      ) for share
    ), held as (
      select campaign from holds where workspace_id = ${workspaceId} and campaign = any(${campaigns}::text[])
    ), suppressed as materialized (${suppressedAmong(messages, workspaceId)}),
    opened as (
      insert into handover_batches (id, lane, fence, provider, message_ids)
      select ${id}, lane.id, ${lane.fence}, ${provider}, allowed.ids
      from lane, (
        select array_agg(r.id order by r.position) as ids
        from unnest(${ids}::text[]) with ordinality as r(id, position)
        where r.id not in (select id from suppressed)
      ) as allowed
      where not exists (select 1 from held) and allowed.ids is not null
    )
    select (select count(*) from lane)::int as lanes, (select array_agg(campaign) from held) as held,
      (select array_agg(id) from suppressed) as suppressed
  `.execute(db);
  const [row] = rows;
  if (row?.held) return { kind: 'held', campaigns: row.held };
  if (!row?.lanes) return { kind: 'lane_changed' };
  return { kind: 'opened', suppressed: new Set(row.suppressed ?? []) };
}

/** For messages that no opening will ask about again: those of a batch that was opened by somebody gone. */
export async function findSuppressed(
  db: Kysely<MessagingTables>,
  messages: readonly OutgoingMessage[],
): Promise<ReadonlySet<string>> {
  const workspaceId = messages[0]?.workspaceId ?? '';
  const { rows } = await sql<{ id: string }>`${suppressedAmong(messages, workspaceId)}`.execute(db);
  return new Set(rows.map((row) => row.id));
}

function suppressedAmong(messages: readonly OutgoingMessage[], workspaceId: string) {
  return sql`
    select r.id from unnest(
      ${messages.map((m) => m.id)}::text[],
      ${messages.map((m) => m.channel)}::text[],
      ${messages.map((m) => m.to)}::text[],
      ${messages.map((m) => m.from)}::text[]
    ) as r(id, channel, to_address, from_address)
    where ${isSuppressed(workspaceId, {
      channel: sql`r.channel`,
      to: sql`r.to_address`,
      from: sql`r.from_address`,
      id: sql`r.id`,
    })}
  `;
}

/** Nothing of this batch has left, so the row may go. */
export async function abandonBatch(db: Kysely<MessagingTables>, batchId: string): Promise<void> {
  await db.deleteFrom('handover_batches').where('id', '=', batchId).execute();
}

/**
 * The same for an opening of which no answer came: the server may be about to run it yet, and a row that
 * is written after it was removed would stay. Raising the lane's count waits for an opening under way, and
 * one that comes later fails by it.
 */
export async function abandonOpening(db: Kysely<MessagingTables>, { id, lane }: Batch): Promise<void> {
  await db
    .updateTable('dispatch_lanes')
    .set({ cancels: sql<number>`cancels + 1` })
    .where('id', '=', lane.id)
    .execute();
  await abandonBatch(db, id);
}

/**
 * Records verdicts on messages of one workspace and closes their batch, in one statement. Without a
 * batch (messages that never left) the lane has to be ours: a process that was frozen could otherwise
 * expire what its successor is handing over. Answers whether the batch was still ours to close, or the
 * lane ours; if not, nothing was written.
 */
export async function recordVerdicts(
  db: Kysely<MessagingTables>,
  verdicts: readonly Verdict[],
  options: { workspaceId: string; provider: string; batchId: string | undefined; lane: Lane },
): Promise<boolean> {
  const { workspaceId, provider, lane } = options;
  const batchId = options.batchId ?? null;
  const count = verdicts.length;
  const at = new Date().toISOString();
  const events = verdicts.map((verdict) => eventOfVerdict(verdict, provider));
  const { rows } = await sql<{ ours: boolean }>`
    with given as (select ${JSON.stringify(events)}::json as events),
    claimed as (
      delete from handover_batches where id = ${batchId}::text returning id
    ), lane as (
      select id from dispatch_lanes
      where ${batchId}::text is null and id = ${lane.id} and fence = ${lane.fence} for share
    ), ours as (
      select exists (select 1 from claimed) or exists (select 1 from lane) as ours
    ), head as (
      update event_heads set next_seq = next_seq + ${count}::int
      where workspace_id = ${workspaceId} and (select ours from ours)
      returning next_seq - ${count}::int as first
    ), changed as (
      update messages m set
        state = r.state,
        code = r.code,
        provider = ${provider},
        provider_id = coalesce(r.provider_id, m.provider_id),
        attempt = r.attempt,
        due_at = case when r.retry_at = '-infinity' then m.due_at else r.retry_at end,
        updated_at = ${at}::timestamptz,
        history = case when r.entry is null then m.history
          else m.history || ${historyEntry(sql`(head.first + r.position - 1)`, sql`r.entry`)} end
      from head, unnest(
        ${verdicts.map((v) => v.message.id)}::text[],
        ${verdicts.map((v) => v.state)}::text[],
        ${verdicts.map((v) => v.code ?? null)}::text[],
        ${verdicts.map((v) => v.providerId ?? null)}::text[],
        ${verdicts.map((v) => v.attempt)}::int[],
        ${verdicts.map((v) => (v.keepsPlace ? '-infinity' : isoOrNull(v.retryAtMs)))}::timestamptz[],
        ${events.map((event) => (event ? historyText(event, at) : null))}::text[]
      ) with ordinality as r(id, state, code, provider_id, attempt, retry_at, entry, position)
      where m.id = r.id and m.state in ('scheduled', 'accepted')
      returning m.id
    ), logged as (
      insert into event_log (workspace_id, first_seq, count, at, events)
      select ${workspaceId}, head.first, ${count}::int, ${at}::timestamptz, ${eventsWritten('changed', count)}
      from head, given where ${events.some((event) => event !== null)}::boolean
        and exists (select 1 from changed)
    )
    select ours from ours
  `.execute(db);
  return rows[0]?.ours === true;
}

/** A message that only waits for its next try has nothing to tell. */
function eventOfVerdict(verdict: Verdict, provider: string): NewEvent | null {
  const { message, state, code, attempt, data } = verdict;
  if (verdict.retryAtMs !== undefined) return null;
  return eventOf(message, { type: state, state, code, provider, attempt, data });
}

const isText = (value: string | undefined): value is string => value !== undefined;
const isoOrNull = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
