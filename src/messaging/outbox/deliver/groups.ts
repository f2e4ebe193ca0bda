import { type Kysely, sql } from 'kysely';
import { isVendor, kindOf } from '../../../domain/account';
import { ANSWER_LOST } from '../../../domain/errors';
import { LIMITS } from '../../../domain/limits';
import { eventOf, eventsWritten, type NewEvent } from '../../events/event-rows';
import { historyEntry, historyText } from '../../events/history';
import { addToMinute } from '../../events/message-minutes';
import type { AttemptResult } from '../../model/attempt-result';
import type { OutgoingMessage } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import { isSuppressed } from '../../suppression/suppression-check';
import type { HeldTag, Holds } from '../queue/holds';
import type { Partition } from '../queue/partitions';

/**
 * A group of messages is one row (`handover_batches`), written before any of them leaves. It names the
 * messages that may be with the provider and have no recorded result:
 *
 *   opened    the row has the ids of all its messages
 *   recorded  a result that ends a message takes it out of the table's due messages; one that lets it wait for its
 *             next try takes its id out of the row
 *   closed    the last result deletes the row, in the statement that records it
 *   unwanted  messages that were canceled meanwhile; the row does not let them go back among those that wait
 *
 * A crash leaves in doubt the messages of the row that are still due. A result is recorded only while the row is there,
 * so that after another process has settled the group, a late answer changes nothing but that a message which was taken
 * is no longer in doubt (receipts.ts).
 */
export interface Group {
  readonly id: string;
  readonly partition: Partition;
  readonly provider: string;
  readonly messages: readonly OutgoingMessage[];
}

export type OpenOutcome =
  /** Without those whose recipients are blocked; when all are, there is no group. */
  | { kind: 'opened'; suppressed: ReadonlySet<string> }
  /** Messages with these tags, and those of these workspaces, must wait. */
  | { kind: 'held'; tags: HeldTag[] }
  /** The partition's fence or its count of cancels is not what we know, or a message was canceled. */
  | { kind: 'partition_changed' };

/**
 * Opens the group, unless a tag in it is held, a workspace is stopped, the partition is not ours, or a message was
 * canceled: the partition's count shows cancels since this statement began, the messages' states those before.
 * Memory is not asked, since a message may come into it, or be between two queues, when its cancel is heard
 * of. The lock on the partition makes canceling wait for us, or us for it. A block that was committed before this
 * statement began keeps its messages out of the group.
 */
export async function openGroup(
  db: Kysely<MessagingTables>,
  group: Group,
  { stoppedAmong }: Pick<Holds, 'stoppedAmong'>,
): Promise<OpenOutcome> {
  const { id, partition, provider, messages } = group;
  const tags = heldCandidates(messages);
  const ids = messages.map((message) => message.id);
  // In most partitions nothing is ever canceled, and then nothing has to be looked at.
  const perhapsCanceled = partition.cancels === 0 ? [] : ids;
  const { rows } = await sql<{ lanes: number; held: HeldTag[] | null; suppressed: string[] | null }>`
    with lane as (
      select id from dispatch_lanes
      where id = ${partition.id} and fence = ${partition.fence} and cancels = ${partition.cancels} and not exists (
        select 1 from messages
        where id = any(${perhapsCanceled}::text[]) and state not in ('scheduled', 'accepted')
      ) for share
    ), held as (
      select h.workspace_id as "workspaceId", h.campaign from holds h join unnest(
        ${tags.map((tag) => tag.workspaceId)}::text[], ${tags.map((tag) => tag.campaign)}::text[]
      ) as t(workspace_id, campaign) on h.workspace_id = t.workspace_id and h.campaign = t.campaign
      union all select workspace_id, null from (${stoppedAmong(stoppable(messages))}) stopped
    ), suppressed as materialized (${suppressedAmong(messages)}),
    opened as (
      insert into handover_batches (id, lane, fence, provider, message_ids)
      select ${id}, lane.id, ${partition.fence}, ${provider}, allowed.ids
      from lane, (
        select array_agg(r.id order by r.position) as ids
        from unnest(${ids}::text[]) with ordinality as r(id, position)
        where r.id not in (select id from suppressed)
      ) as allowed
      where not exists (select 1 from held) and allowed.ids is not null
    )
    select (select count(*) from lane)::int as lanes, (select json_agg(held) from held) as held,
      (select array_agg(id) from suppressed) as suppressed
  `.execute(db);
  const [row] = rows;
  if (row?.held) return { kind: 'held', tags: row.held };
  if (!row?.lanes) return { kind: 'partition_changed' };
  return { kind: 'opened', suppressed: new Set(row.suppressed ?? []) };
}

/** Workspaces with something in the group that a stop keeps back. */
function stoppable(messages: readonly OutgoingMessage[]): string[] {
  const workspaces = new Set<string>();
  for (const { workspaceId, confirmsOptOut } of messages) if (!confirmsOptOut) workspaces.add(workspaceId);
  return [...workspaces];
}

function heldCandidates(messages: readonly OutgoingMessage[]): { workspaceId: string; campaign: string }[] {
  const tags = new Map<string, { workspaceId: string; campaign: string }>();
  for (const { workspaceId, campaign } of messages) {
    if (campaign !== undefined) tags.set(`${workspaceId}/${campaign}`, { workspaceId, campaign });
  }
  return [...tags.values()];
}

/** For messages that no opening will ask about again: those of a group that was opened by a process that is gone. */
export async function findSuppressed(
  db: Kysely<MessagingTables>,
  messages: readonly OutgoingMessage[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`${suppressedAmong(messages)}`.execute(db);
  return new Set(rows.map((row) => row.id));
}

/** Asks once for each workspace whether it blocks any address at all. */
function suppressedAmong(messages: readonly OutgoingMessage[]) {
  const [first] = messages;
  const isOfOne = messages.every(({ workspaceId }) => workspaceId === first?.workspaceId);
  return sql`
    select r.id from unnest(
      ${messages.map((m) => m.id)}::text[],
      ${messages.map((m) => m.workspaceId)}::text[],
      ${messages.map((m) => m.channel)}::text[],
      ${messages.map((m) => m.to)}::text[],
      ${messages.map((m) => m.from)}::text[]
    ) as r(id, workspace_id, channel, to_address, from_address)
    where ${isSuppressed(isOfOne ? (first?.workspaceId ?? '') : sql`r.workspace_id`, {
      channel: sql`r.channel`,
      to: sql`r.to_address`,
      from: sql`r.from_address`,
      id: sql`r.id`,
    })}
  `;
}

/** Nothing of this group has left, so the row may go. */
export async function abandonGroup(db: Kysely<MessagingTables>, groupId: string): Promise<void> {
  await db.deleteFrom('handover_batches').where('id', '=', groupId).execute();
}

/**
 * The same for an opening of which no answer came: the server may be about to run it yet, and a row that
 * is written after it was removed would stay. Raising the partition's count waits for an opening under way, and
 * one that comes later fails by it.
 */
export async function abandonOpening(db: Kysely<MessagingTables>, { id, partition }: Group): Promise<void> {
  await db
    .updateTable('dispatch_lanes')
    .set({ cancels: sql<number>`cancels + 1` })
    .where('id', '=', partition.id)
    .execute();
  await abandonGroup(db, id);
}

/** One thing to record: what a hand-over came to, and the group that named the message. */
export interface Recorded {
  attemptResult: AttemptResult;
  /** None for a message that never left. */
  group: Group | undefined;
}

/**
 * Records results on messages of one workspace and one partition in one statement, and closes the groups named in
 * `closing`. Verdicts without a group need the partition to be ours: a process that was frozen could otherwise expire what
 * its successor is handing over. Answers the groups that were still there (`''` stands for the partition); of the
 * others nothing was written. Nor was anything of a group in which a message that is to wait was canceled
 * (`canceledAmong`).
 */
export async function recordResults(
  db: Kysely<MessagingTables>,
  results: readonly Recorded[],
  options: { workspaceId: string; provider: string; partition: Partition; closing: ReadonlySet<string> },
): Promise<ReadonlySet<string>> {
  const { workspaceId, provider, partition, closing } = options;
  const attemptResults = results.map(({ attemptResult }) => attemptResult);
  const groupIds = results.map(({ group }) => group?.id ?? '');
  const { kept, shrinking, waitingIds } = groupsLeftOpen(results, closing);
  const mayPutBack = sql`(unwanted is null or not unwanted && ${waitingIds}::text[])`;
  const count = attemptResults.length;
  const at = new Date().toISOString();
  const providers = results.map((result) => providerOf(result, provider));
  const events = attemptResults.map((one, i) => eventOfAttemptResult(one, providers[i] ?? provider));
  const moved = events.flatMap((event) => event ?? []);
  const { rows } = await sql<{ ours: string[] | null }>`
    with given as (select ${JSON.stringify(events)}::json as events),
    closed as (
      delete from handover_batches where id = any(${[...closing]}::text[]) and ${mayPutBack} returning id
    ), shrunk as (
      update handover_batches set message_ids = array(
        select m.id from unnest(message_ids) as m(id) where m.id <> all(${waitingIds}::text[])
      ) where id = any(${shrinking}::text[]) and ${mayPutBack} returning id
    ), kept as (
      select id from handover_batches
      where id = any(${kept}::text[]) for key share
    ), lane as (
      select id from dispatch_lanes
      where ${groupIds.includes('')}::boolean and id = ${partition.id} and fence = ${partition.fence} for share
    ), ours as materialized (
      select id from closed union all select id from shrunk union all select id from kept
      union all select '' from lane
    ), head as (
      update event_heads set next_seq = next_seq + ${count}::int
      where workspace_id = ${workspaceId} and exists (select 1 from ours)
      returning next_seq - ${count}::int as first
    ), changed as (
      update messages m set
        state = r.state,
        code = r.code,
        provider = r.provider,
        provider_id = coalesce(r.provider_id, m.provider_id),
        attempt = r.attempt,${doubted(attemptResults)}
        due_at = case when r.retry_at = '-infinity' then m.due_at else r.retry_at end,
        updated_at = ${at}::timestamptz,
        history = case when r.entry is null then m.history
          else m.history || ${historyEntry(sql`(head.first + r.position - 1)`, sql`r.entry`)} end
      from head, unnest(
        ${attemptResults.map((v) => v.message.id)}::text[],
        ${groupIds}::text[],
        ${providers}::text[],
        ${attemptResults.map((v) => v.state)}::text[],
        ${attemptResults.map((v) => v.code ?? null)}::text[],
        ${attemptResults.map((v) => v.providerId ?? null)}::text[],
        ${attemptResults.map((v) => v.attempt)}::int[],
        ${attemptResults.map((v) => (v.keepsPlace ? '-infinity' : isoOrNull(v.retryAtMs)))}::timestamptz[],
        ${events.map((event) => (event ? historyText(event, at) : null))}::text[]
      ) with ordinality as r(id, group_id, provider, state, code, provider_id, attempt, retry_at, entry, position)
      where m.id = r.id and m.state in ('scheduled', 'accepted') and r.group_id in (select id from ours)
      returning m.id
    )${doubtsAmong(attemptResults, groupIds, provider)}, logged as (
      insert into event_log (workspace_id, first_seq, count, at, events)
      select ${workspaceId}, head.first, ${count}::int, ${at}::timestamptz, ${eventsWritten('changed', count)}
      from head, given where ${moved.length > 0}::boolean
        and exists (select 1 from changed)
    ), counted as (${addToMinute(workspaceId, moved)})
    select (select array_agg(id) from ours) as ours
  `.execute(db);
  return new Set(rows[0]?.ours ?? []);
}

/**
 * The results of groups that are still there, in which messages were canceled that were to wait: these are canceled
 * instead, or unknown where they are in doubt, with the same hand-overs counted. Results of other groups are left out.
 */
export async function canceledAmong(
  db: Kysely<MessagingTables>,
  results: readonly Recorded[],
): Promise<Recorded[]> {
  const ids = new Set(results.flatMap(({ group }) => group?.id ?? []));
  if (ids.size === 0) return [];
  const rows = await db
    .selectFrom('handover_batches')
    .select(['id', 'unwanted'])
    .where('id', '=', sql<string>`any(${[...ids]}::text[])`)
    .where('unwanted', 'is not', null)
    .execute();
  const unwanted = new Map(rows.map((row) => [row.id, new Set(row.unwanted)]));
  return results.flatMap(({ attemptResult, group }) => {
    const ofGroup = group && unwanted.get(group.id);
    if (!ofGroup) return [];
    const { message, attempt, at, inDoubt } = attemptResult;
    const isCanceled = attemptResult.retryAtMs !== undefined && ofGroup.has(message.id);
    if (!isCanceled) return [{ attemptResult, group }];
    const end = inDoubt
      ? ({ state: 'unknown', code: ANSWER_LOST } as const)
      : ({ state: 'canceled' } as const);
    return [{ attemptResult: { message, attempt, at, ...end }, group }];
  });
}

/**
 * Groups that stay as they are, and groups from which the messages that wait for their next try are taken.
 */
function groupsLeftOpen(results: readonly Recorded[], closing: ReadonlySet<string>) {
  const waiting = results.filter(
    ({ attemptResult, group }) => group && attemptResult.retryAtMs !== undefined,
  );
  const openAmong = (some: readonly Recorded[]) =>
    new Set(some.flatMap(({ group }) => (group && !closing.has(group.id) ? [group.id] : [])));
  const shrinking = openAmong(waiting);
  return {
    kept: [...openAmong(results)].filter((id) => !shrinking.has(id)),
    shrinking: [...shrinking],
    waitingIds: waiting.map(({ attemptResult }) => attemptResult.message.id),
  };
}

/** SQL: few messages are ever in doubt, so that the others' statement does not name the column. */
function doubted(attemptResults: readonly AttemptResult[]) {
  const ids = attemptResults.flatMap(({ message, inDoubt }) => (inDoubt ? message.id : []));
  return ids.length === 0 ? sql`` : sql` in_doubt = case when m.id = any(${ids}::text[]) then true end,`;
}

/** SQL: what a vendor can be asked about is written down with the doubt. */
function doubtsAmong(
  attemptResults: readonly AttemptResult[],
  groupIds: readonly string[],
  provider: string,
) {
  const isAsked = isVendor(kindOf(provider)) && attemptResults.some(({ state }) => state === 'unknown');
  if (!isAsked) return sql``;
  const [firstLookMs] = LIMITS.doubtLooksMs;
  return sql`, doubts as (
    insert into vendor_doubts (message_id, provider, channel, since, until, look_at)
    select c.id, ${provider}, r.channel, coalesce(b.opened_at, now() - interval '2 minutes'), now(),
      now() + ${firstLookMs} * interval '1 millisecond'
    from changed c join unnest(
      ${attemptResults.map(({ message }) => message.id)}::text[], ${groupIds}::text[],
      ${attemptResults.map(({ message }) => message.channel)}::text[], ${attemptResults.map(({ state }) => state)}::text[]
    ) as r(id, group_id, channel, state) on r.id = c.id and r.state = 'unknown'
    left join handover_batches b on b.id = r.group_id
    on conflict do nothing
  )`;
}

/** One that ends without leaving again stays with the provider that may have got something of it, for its late receipt. */
const providerOf = ({ attemptResult: { message }, group }: Recorded, provider: string): string =>
  group ? provider : (message.boundTo ?? provider);

/** A message that only waits for its next try has no event. */
function eventOfAttemptResult(attemptResult: AttemptResult, provider: string): NewEvent | null {
  const { message, state, at, code, attempt, data } = attemptResult;
  if (attemptResult.retryAtMs !== undefined) return null;
  return eventOf(message, { type: state, state, at, code, provider, attempt, data });
}

const isoOrNull = (ms: number | undefined) => (ms === undefined ? null : new Date(ms).toISOString());
