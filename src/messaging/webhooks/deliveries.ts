import { type Kysely, type Selectable, sql } from 'kysely';
import type { WebhookDeliveryQuery } from '../../contracts/webhooks';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { WebhookDeliveryState } from '../../domain/webhook';
import type { Log } from '../../log';
import { type PeriodicCleanup, startPeriodicCleanup } from '../../storage/periodic-cleanup';
import type { MessagingTables } from '../model/tables';

/** Deliveries as an endpoint's owner sees and repeats them. The caller has checked who may see the endpoint. */
export interface WebhookDelivery {
  id: string;
  type: string;
  sequence: number | null;
  state: WebhookDeliveryState;
  attempts: number;
  status: number | null;
  code: string | null;
  answer: string | null;
  dueAt: Date | null;
  lastAttemptAt: Date | null;
  createdAt: Date;
}

/** Newest first. */
export async function listDeliveries(
  db: Kysely<MessagingTables>,
  webhookId: string,
  { state, cursor, limit }: WebhookDeliveryQuery,
): Promise<{ deliveries: WebhookDelivery[]; next: string | null }> {
  let query = select(db)
    .where('webhook_id', '=', webhookId)
    .orderBy('id', 'desc')
    .limit(limit + 1);
  if (state) query = query.where('state', '=', state);
  // The cursor is the id of the last delivery seen; any other text is also a position in the order.
  if (cursor !== undefined) query = query.where('id', '<', cursor);
  const rows = await query.execute();
  const page = rows.slice(0, limit);
  return {
    deliveries: page.map(toDelivery),
    next: rows.length > limit ? (page.at(-1)?.id ?? null) : null,
  };
}

/** Repeated with the same id, it is the same delivery. */
export async function insertTest(
  db: Kysely<MessagingTables>,
  webhookId: string,
  id: string,
  nowMs: number,
): Promise<WebhookDelivery> {
  const type = 'webhook.test';
  const body = webhookBodyOf(type, new Date(nowMs).toISOString(), { webhookId });
  await db
    .insertInto('webhook_deliveries')
    .values({ id, webhook_id: webhookId, type, body, due_at: sql<Date>`now()` })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return readDelivery(db, webhookId, id);
}

/** The body that is sent and signed, in the format of Standard Webhooks. */
export const webhookBodyOf = (type: string, timestamp: string, data: Record<string, unknown>): string =>
  JSON.stringify({ type, timestamp, data });

/** A waiting delivery becomes due at once and keeps its count of attempts; an ended one begins anew. */
export async function redeliverOne(
  db: Kysely<MessagingTables>,
  webhookId: string,
  id: string,
): Promise<WebhookDelivery> {
  await sql`
    update webhook_deliveries set due_at = now(), state = 'pending',
      attempts = case when state = 'pending' then attempts else 0 end
    where id = ${id} and webhook_id = ${webhookId} and not claimed`.execute(db);
  return readDelivery(db, webhookId, id);
}

/** The oldest first, so that repeated calls reach all of them. */
export async function redeliverFailed(
  db: Kysely<MessagingTables>,
  webhookId: string,
  since: string | undefined,
): Promise<{ redelivered: number; more: boolean }> {
  const { rows } = await sql<{ redelivered: number; failed: number }>`
    with failed as (
      select id from webhook_deliveries
      where webhook_id = ${webhookId} and state = 'failed'
        and created_at >= ${since ?? EVER}::timestamptz
      order by id limit ${LIMITS.webhookRedeliveries + 1}
    ), begun as (
      update webhook_deliveries d set state = 'pending', attempts = 0, due_at = now()
      from (select id from failed order by id limit ${LIMITS.webhookRedeliveries}) f
      where d.id = f.id and d.state = 'failed' returning d.id
    )
    select (select count(*) from begun)::int as redelivered, (select count(*) from failed)::int as failed
  `.execute(db);
  const { redelivered = 0, failed = 0 } = rows[0] ?? {};
  return { redelivered, more: failed > LIMITS.webhookRedeliveries };
}

const EVER = '-infinity';

function select(db: Kysely<MessagingTables>) {
  return db
    .selectFrom('webhook_deliveries')
    .select(['id', 'type', 'sequence', 'state', 'attempts', 'status', 'code', 'answer'])
    .select(['due_at', 'last_attempt_at', 'created_at']);
}

async function readDelivery(
  db: Kysely<MessagingTables>,
  webhookId: string,
  id: string,
): Promise<WebhookDelivery> {
  const row = await select(db).where('id', '=', id).where('webhook_id', '=', webhookId).executeTakeFirst();
  if (!row)
    throw new DomainError(
      'not_found',
      `No delivery ${id} of webhook ${webhookId}; GET /api/webhook/${webhookId}/deliveries lists its deliveries`,
    );
  return toDelivery(row);
}

function toDelivery(
  row: Omit<Selectable<MessagingTables['webhook_deliveries']>, 'webhook_id' | 'body' | 'claimed' | 'fence'>,
): WebhookDelivery {
  const { due_at: dueAt, last_attempt_at: lastAttemptAt, created_at: createdAt, ...same } = row;
  return { ...same, dueAt, lastAttemptAt, createdAt };
}

/**
 * Deletes deliveries that ended some days ago, and deleted endpoints with all their rows. Waiting deliveries
 * stay; the backlog limits their number.
 */
export function keepWebhookExpiry({
  db,
  log,
  now = Date.now,
}: {
  db: Kysely<MessagingTables>;
  log: Log;
  now?: () => number;
}): PeriodicCleanup {
  return startPeriodicCleanup({
    steps: () => [() => deleteEnded(db, now()), () => deleteOfDeleted(db), () => deleteDeleted(db)],
    onFailed: (error) =>
      log.warn({ err: error }, 'Old webhook deliveries could not be deleted; trying again at the next sweep'),
  });
}

const DAY_MS = 86_400_000;

async function deleteEnded(db: Kysely<MessagingTables>, nowMs: number): Promise<number> {
  const before = (days: number) => new Date(nowMs - days * DAY_MS).toISOString();
  let deleted = 0;
  for (const [state, days] of [
    ['delivered', LIMITS.webhookDeliveredDays],
    ['failed', LIMITS.webhookFailedDays],
  ] as const) {
    const { numAffectedRows } = await sql`
      delete from webhook_deliveries where id = any(array(
        select id from webhook_deliveries
        where due_at is null and state = ${state} and created_at < ${before(days)}::timestamptz
          -- The index is by creation, and few end days later: after retries, or after their endpoint was enabled again.
          and coalesce(last_attempt_at, created_at) < ${before(days)}::timestamptz
        order by created_at limit ${LIMITS.retentionRows}))`.execute(db);
    deleted += Number(numAffectedRows ?? 0);
  }
  return deleted;
}

async function deleteOfDeleted(db: Kysely<MessagingTables>): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhook_deliveries where id = any(array(
      select d.id from webhooks w join webhook_deliveries d on d.webhook_id = w.id
      where w.deleted_at is not null limit ${LIMITS.retentionRows}))`.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** An attempt that was running when the endpoint was deleted finds no row to record in. */
async function deleteDeleted(db: Kysely<MessagingTables>): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from webhooks w where deleted_at is not null
      and not exists (select from webhook_deliveries d where d.webhook_id = w.id)`.execute(db);
  return Number(numAffectedRows ?? 0);
}
