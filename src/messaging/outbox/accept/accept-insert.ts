import { type Kysely, sql } from 'kysely';
import { eventOf, eventsWritten } from '../../events/event-rows';
import type { Draft } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import { isSuppressed } from '../../suppression/suppression-check';

export type InsertOutcome =
  | { kind: 'inserted'; ids: ReadonlySet<string> | 'all'; suppressed: ReadonlySet<string> }
  /** The partition has another owner by now: nothing was written. */
  | { kind: 'partition_lost' }
  /** The workspace has no event head yet: nothing was written. */
  | { kind: 'no_head' };

/**
 * Writes messages of one workspace and the event that says they were accepted, in one statement. A uid
 * that exists already, or stands twice in the group, is passed over; one whose recipient is blocked is
 * recorded as `suppressed`, whatever its class, and never falls due.
 *
 * Locks are taken in the order partition, head, messages, as everywhere. The lock on the partition keeps it from
 * being removed while a message that would never be found is on its way into it.
 *
 * Most of a small group's cost is the statement's own, which is why requests share one. A JSON document in place of the arrays took as long.
 */
export async function insertMessages(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  partition: { id: string; fence: number },
  drafts: readonly Draft[],
  at: string,
): Promise<InsertOutcome> {
  const count = drafts.length;
  const events = drafts.map((draft) => eventOf(draft, { type: draft.state, state: draft.state }));
  const blocked = isSuppressed(workspaceId, {
    channel: sql`g.channel`,
    to: sql`g.to_address`,
    from: sql`g.from_address`,
    id: sql`g.id`,
  });
  const { rows } = await sql<Written>`
    with given as (select ${JSON.stringify(events)}::json as events),
    lane as (
      select id from dispatch_lanes where id = ${partition.id} and fence = ${partition.fence} for key share
    ), head as (
      update event_heads set next_seq = next_seq + ${count}::int
      where workspace_id = ${workspaceId} and exists (select 1 from lane)
      returning next_seq - ${count}::int as first
    ), inserted as (
      insert into messages (
        id, workspace_id, uid, channel, to_address, from_address, template_id, template_version, subject,
        body, params, campaign, class, reply_to, voice, segments, encoding, payload_hash, state, send_at, due_at,
        expires_at, lane, flow, accepted_seq, created_at, updated_at, suffix
      )
      select r.id, ${workspaceId}, r.uid, r.channel, r.to_address, r.from_address, r.template_id,
        r.template_version, r.subject, r.body, r.params::jsonb, r.campaign, r.class, r.reply_to,
        r.voice::jsonb, r.segments,
        r.encoding, r.payload_hash, case when r.suppressed then 'suppressed' else r.state end, r.send_at,
        case when not r.suppressed then
          case r.state when 'scheduled' then r.send_at else ${at}::timestamptz end
        end,
        r.expires_at, ${partition.id}, r.flow, head.first + r.position - 1, ${at}::timestamptz, ${at}::timestamptz,
        r.suffix
      from (select *, ${blocked} as suppressed from unnest(
        ${columnsOf(drafts)}
      ) with ordinality as g(
        id, uid, channel, to_address, from_address, template_id, template_version, subject, body, params,
        campaign, class, reply_to, voice, segments, encoding, payload_hash, state, send_at, expires_at,
        suffix, flow, position
      ) offset 0) as r, head
      on conflict (workspace_id, uid) do nothing
      returning id, state
    ), logged as (
      insert into event_log (workspace_id, first_seq, count, at, events)
      select ${workspaceId}, head.first, ${count}::int, ${at}::timestamptz, ${acceptEvents(count)}
      from head, given where exists (select 1 from inserted)
    )
    select (select count(*) from lane)::int as lanes, (select count(*) from head)::int as heads,
      (select count(*) from inserted)::int as inserted,
      case when (select count(*) from inserted) < ${count}::int
        then (select array_agg(id) from inserted) end as ids,
      (select array_agg(id) from inserted where state = 'suppressed') as suppressed
  `.execute(db);
  const row = rows[0];
  if (!row?.lanes) return { kind: 'partition_lost' };
  if (!row.heads) return { kind: 'no_head' };
  return {
    kind: 'inserted',
    ids: row.inserted === count ? 'all' : new Set(row.ids ?? []),
    suppressed: new Set(row.suppressed ?? []),
  };
}

interface Written {
  lanes: number;
  heads: number;
  inserted: number;
  ids: string[] | null;
  suppressed: string[] | null;
}

/** An array for each column, in the order in which the statement names them. */
function columnsOf(drafts: readonly Draft[]) {
  return sql`
        ${drafts.map((d) => d.id)}::text[],
        ${drafts.map((d) => d.uid)}::text[],
        ${drafts.map((d) => d.channel)}::text[],
        ${drafts.map((d) => d.to)}::text[],
        ${drafts.map((d) => d.from)}::text[],
        ${drafts.map((d) => d.templateId ?? null)}::text[],
        ${drafts.map((d) => d.templateVersion ?? null)}::int[],
        ${drafts.map((d) => d.subject ?? null)}::text[],
        ${drafts.map((d) => d.body ?? null)}::text[],
        ${drafts.map((d) => d.paramsJson)}::text[],
        ${drafts.map((d) => d.campaign ?? null)}::text[],
        ${drafts.map((d) => d.class)}::text[],
        ${drafts.map((d) => d.replyTo ?? null)}::text[],
        ${drafts.map((d) => (d.voice ? JSON.stringify(d.voice) : null))}::text[],
        ${drafts.map((d) => d.segments ?? null)}::int[],
        ${drafts.map((d) => d.encoding ?? null)}::text[],
        ${drafts.map((d) => d.payloadHash)}::text[],
        ${drafts.map((d) => d.state)}::text[],
        ${drafts.map((d) => d.sendAt ?? null)}::timestamptz[],
        ${drafts.map((d) => d.expiresAt ?? null)}::timestamptz[],
        ${drafts.map((d) => d.suffix ?? null)}::text[],
        ${drafts.map((d) => d.flow)}::int[]`;
}

/** Whether a message will be suppressed is known only inside the statement; few are. */
function acceptEvents(count: number) {
  return sql`case when exists (select 1 from inserted where state = 'suppressed') then (
    select json_agg(case
      when w.id is null then null
      when w.state = 'suppressed' then (e.value::jsonb || '{"type":"suppressed","state":"suppressed"}')::json
      else e.value end order by e.position)
    from json_array_elements(given.events) with ordinality as e(value, position)
    left join inserted w on w.id = e.value->>'id'
  ) else ${eventsWritten('inserted', count)} end`;
}

/** The row that hands out a workspace's event numbers; made when the first message comes. */
export async function ensureEventHead(db: Kysely<MessagingTables>, workspaceId: string): Promise<void> {
  await db
    .insertInto('event_heads')
    .values({ workspace_id: workspaceId, next_seq: 1 })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}
