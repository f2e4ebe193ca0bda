import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import { newId } from '../storage/new-id';
import { type CleanupStep, type PeriodicCleanup, startPeriodicCleanup } from '../storage/periodic-cleanup';
import type { MessagingTables } from './model/tables';

/**
 * Records of messages are kept for ever unless a number of days is set. Then a message is deleted that many
 * days after its arrival or its last event, whichever is later, but never while it is still to be sent. Events
 * are deleted from the beginning of the feed, and lifted suppressions that many days after they were lifted.
 * The uid is forgotten with its record: sent again, it is a new message. A reader of the feed whose position
 * was deleted gets an error (events.ts).
 *
 * Buckets of senders not used for a week are deleted in any case, because a new bucket is as full as the old
 * one. So are inbound messages that no carrier will repeat, and soft bounces that no longer count.
 */
export function keepRetention({
  db,
  days,
  log,
  now = Date.now,
}: {
  db: Kysely<MessagingTables>;
  days: number | undefined;
  log: Log;
  now?: () => number;
}): PeriodicCleanup {
  const before = (keptDays: number) => now() - keptDays * DAY_MS;

  async function steps(): Promise<CleanupStep[]> {
    return [
      ...(days === undefined ? [] : await stepsOfRecords(days)),
      () => deleteInbound(db, before(LIMITS.inboundKeptDays)),
      () => deleteInboundParts(db, before(LIMITS.inboundKeptDays)),
      () => deleteSoftBounces(db, before(LIMITS.softBounceWindowDays)),
      () => deleteMinutes(db, now() - LIMITS.messageMinutesKeptHours * HOUR_MS),
      () => deleteBuckets(db, before(BUCKET_DAYS)),
    ];
  }

  async function stepsOfRecords(keptDays: number): Promise<CleanupStep[]> {
    const heads = await db.selectFrom('event_heads').select('workspace_id').execute();
    return [
      () => deleteMessages(db, before(keptDays)),
      () => deleteLifted(db, before(keptDays)),
      ...heads.map(
        ({ workspace_id }) =>
          () =>
            deleteEvents(db, workspace_id, before(keptDays)),
      ),
    ];
  }

  return startPeriodicCleanup({
    steps,
    onFailed: (error) =>
      log.warn({ err: error }, 'Old records could not be deleted; trying again at the next sweep'),
  });
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const BUCKET_DAYS = 7;

/** By id, which begins with the time, so that each step reads the primary key from its beginning. */
async function deleteMessages(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from messages where id = any(array(
      select id from messages
      where id < ${newId('msg', beforeMs, new Uint8Array(16))} and due_at is null
        and updated_at < ${new Date(beforeMs).toISOString()}::timestamptz
      order by id limit ${LIMITS.retentionRows}
    ))
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** The head shows readers up to which number events are deleted; it changes with the rows. */
async function deleteEvents(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  beforeMs: number,
): Promise<number> {
  const { rows } = await sql<{ gone: number }>`
    with old as (
      select first_seq, at from event_log
      where workspace_id = ${workspaceId} order by first_seq limit ${LIMITS.retentionRows}
    ), gone as (
      delete from event_log e using old
      where e.workspace_id = ${workspaceId} and e.first_seq = old.first_seq
        and old.at < ${new Date(beforeMs).toISOString()}::timestamptz
      returning e.first_seq + e.count as next
    ), head as (
      update event_heads set kept_from = greatest(kept_from, (select max(next) from gone))
      where workspace_id = ${workspaceId} and exists (select 1 from gone)
    )
    select count(*)::int as gone from gone
  `.execute(db);
  return rows[0]?.gone ?? 0;
}

async function deleteLifted(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from lifted_suppressions where id in (
      select id from lifted_suppressions where lifted_at < ${new Date(beforeMs).toISOString()}::timestamptz
      order by lifted_at limit ${LIMITS.retentionRows}
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

/** Left where an account was deleted before the rest of a message came. */
async function deleteInboundParts(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from inbound_parts where created_at < ${new Date(beforeMs).toISOString()}::timestamptz
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function deleteInbound(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from inbound_messages where id in (
      select id from inbound_messages where received_at < ${new Date(beforeMs).toISOString()}::timestamptz
      order by received_at limit ${LIMITS.retentionRows}
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function deleteSoftBounces(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from soft_bounces where (workspace_id, address, message_id) in (
      select workspace_id, address, message_id from soft_bounces
      where day < ${new Date(beforeMs).toISOString()}::timestamptz::date
      order by day limit ${LIMITS.retentionRows}
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function deleteMinutes(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from message_minutes where (workspace_id, minute, channel) in (
      select workspace_id, minute, channel from message_minutes
      where minute < ${new Date(beforeMs).toISOString()}::timestamptz
      order by minute limit ${LIMITS.retentionRows}
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

async function deleteBuckets(db: Kysely<MessagingTables>, beforeMs: number): Promise<number> {
  const { numAffectedRows } = await sql`
    delete from sender_buckets where (workspace_id, channel, sender) in (
      select workspace_id, channel, sender from sender_buckets
      where filled_at < ${new Date(beforeMs).toISOString()}::timestamptz
        and coalesce(paused_until < now(), true)
      limit ${LIMITS.retentionRows}
    )
  `.execute(db);
  return Number(numAffectedRows ?? 0);
}

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
