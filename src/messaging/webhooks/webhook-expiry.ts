import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import { type PeriodicCleanup, startPeriodicCleanup } from '../../storage/periodic-cleanup';
import type { MessagingTables } from '../model/tables';

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
