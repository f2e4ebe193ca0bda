import { createHash } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { isWanted } from '../../domain/webhook';
import { newId } from '../../storage/new-id';
import { whileCopied } from '../events/event-rows';
import { readAfter } from '../events/events';
import type { MessagingTables } from '../model/tables';
import { webhookBodyOf } from './deliveries';
import type { OutsideEvent, OutsideEvents } from './outside-events';

/** An enabled endpoint, as one look found it. */
export interface Endpoint {
  id: string;
  workspaceId: string;
  events: string[];
  createdAt: Date;
  afterSeq: number;
  /** The number of its workspace's newest event, and of the oldest one that is kept. */
  lastSeq: number;
  keptFrom: number;
  failingSince: Date | null;
  /** The endpoint requested a pause that is not over. */
  isPaused: boolean;
  /** The key that encrypts its secrets. */
  keyId: string | null;
}

/** All enabled endpoints of every workspace. */
export async function readEndpoints(db: Kysely<MessagingTables>): Promise<Endpoint[]> {
  const { rows } = await sql<Endpoint>`
    select w.id, w.workspace_id as "workspaceId", w.events, w.created_at as "createdAt",
      w.after_seq as "afterSeq", coalesce(h.next_seq - 1, 0) as "lastSeq", coalesce(h.kept_from, 0) as "keptFrom",
      w.failing_since as "failingSince", coalesce(w.paused_until > now(), false) as "isPaused", w.key_id as "keyId"
    from webhooks w left join event_heads h on h.workspace_id = w.workspace_id
    where w.disabled_at is null`.execute(db);
  return rows;
}

export interface FannedOut {
  deliveries: number;
  /** There are more events to read, and room for them. */
  more: boolean;
}

/**
 * Turns the next events of the feed into deliveries. The endpoint's cursor moves in the same statement, and
 * only from where it was read: of two processes that read the same events, one writes nothing. An endpoint
 * whose backlog is full is skipped. Its events wait in the feed for as long as the feed keeps them.
 */
export async function fanOutMessages(db: Kysely<MessagingTables>, endpoint: Endpoint): Promise<FannedOut> {
  const room = LIMITS.webhookBacklog - (await countPending(db, endpoint.id));
  if (room <= 0) return { deliveries: 0, more: false };
  const limit = Math.min(room, LIMITS.webhookFanOut);
  return db.transaction().execute(async (tx) => {
    await whileCopied(endpoint.workspaceId).execute(tx);
    return fanOutPage(tx, endpoint, { limit, room });
  });
}

async function fanOutPage(
  db: Kysely<MessagingTables>,
  endpoint: Endpoint,
  { limit, room }: { limit: number; room: number },
): Promise<FannedOut> {
  const { events, position } = await readAfter(db, endpoint.workspaceId, endpoint.afterSeq, limit);
  if (position <= endpoint.afterSeq) return { deliveries: 0, more: false };
  const nowMs = Date.now();
  const drafts = events.flatMap((event) => {
    const type = `message.${event.type}`;
    if (!isWanted(endpoint.events, type)) return [];
    const data = { ...event, sequence: event.seq, occurredAt: event.at };
    return [
      { id: newId('whd', nowMs), type, sequence: event.seq, body: webhookBodyOf(type, event.at, data) },
    ];
  });
  const missed = Math.max(0, endpoint.keptFrom - 1 - endpoint.afterSeq);
  const { rows } = await sql<{ moved: number }>`
    with moved as (
      update webhooks set after_seq = ${position}, missed = missed + ${missed}
      where id = ${endpoint.id} and after_seq = ${endpoint.afterSeq} and disabled_at is null
      returning id
    ), made as (
      insert into webhook_deliveries (id, webhook_id, type, sequence, body, due_at)
      select g.id, moved.id, g.type, g.sequence, g.body, now()
      from moved cross join unnest(
        ${drafts.map((draft) => draft.id)}::text[], ${drafts.map((draft) => draft.type)}::text[],
        ${drafts.map((draft) => draft.sequence)}::bigint[], ${drafts.map((draft) => draft.body)}::text[]
      ) as g(id, type, sequence, body)
    )
    select count(*)::int as moved from moved`.execute(db);
  if (rows[0]?.moved !== 1) return { deliveries: 0, more: false };
  endpoint.afterSeq = position;
  return { deliveries: drafts.length, more: position < endpoint.lastSeq && room > drafts.length };
}

/** Reads the index only: the rows are limited by the backlog and by deliveries repeated by hand. */
async function countPending(db: Kysely<MessagingTables>, webhookId: string): Promise<number> {
  const { rows } = await sql<{ pending: number }>`
    select count(*)::int as pending from (
      select from webhook_deliveries where webhook_id = ${webhookId} and due_at is not null
      limit ${LIMITS.webhookBacklog}
    ) as waiting`.execute(db);
  return rows[0]?.pending ?? 0;
}

/**
 * Creates deliveries of outside events for the endpoints that existed then. `endpoints` must have been read
 * after the events, so that no such endpoint is missing. Returns the endpoints that got one.
 */
export async function fanOutOutside(
  db: Kysely<MessagingTables>,
  outside: OutsideEvents,
  events: readonly OutsideEvent[],
  endpoints: readonly Endpoint[],
): Promise<Set<string>> {
  const told = events.flatMap((event) =>
    endpoints
      .filter(({ workspaceId, createdAt }) => workspaceId === event.workspaceId && createdAt <= event.at)
      .filter((endpoint) => isWanted(endpoint.events, event.type))
      .map((endpoint) => ({ event, endpoint })),
  );
  if (told.length > 0) {
    const described = await outside.describe([...new Set(told.map(({ event }) => event))]);
    const rows = told.map(({ event, endpoint }) => {
      const occurredAt = event.at.toISOString();
      const data = { ...described.get(event.id), occurredAt };
      return {
        id: derivedId(endpoint.id, event),
        webhookId: endpoint.id,
        type: event.type,
        body: webhookBodyOf(event.type, occurredAt, data),
      };
    });
    await sql`
      insert into webhook_deliveries (id, webhook_id, type, body, due_at)
      select g.id, g.webhook_id, g.type, g.body, now()
      from unnest(${rows.map((row) => row.id)}::text[], ${rows.map((row) => row.webhookId)}::text[],
        ${rows.map((row) => row.type)}::text[], ${rows.map((row) => row.body)}::text[]
      ) as g(id, webhook_id, type, body)
      on conflict (id) do nothing`.execute(db);
  }
  await outside.done(events.map(({ id }) => id));
  return new Set(told.map(({ endpoint }) => endpoint.id));
}

function derivedId(webhookId: string, event: OutsideEvent): string {
  const hash = createHash('sha256').update(`${webhookId} ${event.id}`).digest();
  return newId('whd', event.at.getTime(), hash.subarray(0, 16));
}
