import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { MessagingTables } from './model/tables';

/**
 * Deletes expired rows: ended tokens and sessions, old counts of failed attempts, answers kept for an
 * Idempotency-Key, calls at vendors that are over, and senders that were reopened at their account. Readers of these rows check the age themselves, so that nothing depends on the time of the
 * sweep.
 */
export interface Expiry {
  /** Deletes everything that has expired, in steps of limited size. */
  sweep(): Promise<void>;
  stop(): void;
}

export interface ExpiryDeps {
  db: Kysely<MessagingTables>;
  log: Log;
  now?: () => number;
}

const HOUR_MS = 3_600_000;

export function keepExpiring({ db, log, now = Date.now }: ExpiryDeps): Expiry {
  const before = (ms: number) => new Date(now() - ms).toISOString();

  async function sweep(): Promise<void> {
    await deleteAll(db, 'access_tokens', sql`valid_till < ${before(0)}::timestamptz`);
    const idle = before(LIMITS.sessionIdleHours * HOUR_MS);
    await deleteAll(db, 'sessions', sql`last_seen_at < ${idle}::timestamptz`);
    const windowBegan = before(LIMITS.loginFailureWindowMinutes * 60_000);
    await deleteAll(db, 'failed_attempts', sql`greatest(since, blocked_until) < ${windowBegan}::timestamptz`);
    const kept = before(LIMITS.idempotencyKeptHours * HOUR_MS);
    await deleteAll(db, 'idempotency_keys', sql`created_at < ${kept}::timestamptz`);
    const served = before(LIMITS.endedCallMinutes * 60_000);
    await deleteAll(db, 'vendor_calls', sql`ended_at < ${served}::timestamptz`);
    const silent = before(LIMITS.silentCallHours * HOUR_MS);
    await deleteAll(db, 'vendor_calls', sql`created_at < ${silent}::timestamptz`);
    const reopened = before(LIMITS.reopenedSenderDays * 24 * HOUR_MS);
    await deleteAll(db, 'account_senders', sql`reopened_at < ${reopened}::timestamptz`);
    await deleteAll(db, 'vendor_doubts', sql`until < ${silent}::timestamptz`);
  }

  const timer = setInterval(() => {
    sweep().catch((error: unknown) =>
      log.warn({ err: error }, 'expired credentials could not be deleted; trying again at the next sweep'),
    );
  }, LIMITS.expirySweepSeconds * 1_000);
  timer.unref();
  return { sweep, stop: () => clearInterval(timer) };
}

async function deleteAll(
  db: Kysely<MessagingTables>,
  table: keyof MessagingTables,
  condition: RawBuilder<unknown>,
): Promise<void> {
  for (;;) {
    const { numAffectedRows } = await sql`
      delete from ${sql.table(table)} where ctid = any(array(
        select ctid from ${sql.table(table)} where ${condition} limit ${LIMITS.expirySweepRows}))`.execute(
      db,
    );
    if (Number(numAffectedRows ?? 0) < LIMITS.expirySweepRows) return;
  }
}
