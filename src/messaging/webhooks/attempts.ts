import { type Kysely, sql, type Transaction } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { type DisabledReason, webhookRetryMs } from '../../domain/webhook';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';
import { webhookBodyOf } from './deliveries';
import type { PostOutcome } from './post';
import type { SealedSecret } from './sealed-secrets';

/**
 * Attempts in the table. An attempt is claimed before its request leaves, and due again when its lease is over,
 * so that the attempts of a dead process are repeated. Its fence keeps a process that was only frozen from
 * recording.
 */
export interface ClaimedDelivery {
  id: string;
  webhookId: string;
  workspaceId: string;
  body: string;
  /** Number of failed attempts before this one. */
  attempts: number;
  fence: number;
  url: string;
  keyId: string;
  sealed: SealedSecret[];
}

/**
 * Claims due deliveries, the oldest first: of each endpoint at most as many as it has room for, and none of an
 * endpoint whose secrets are under a key that this process lacks.
 */
export async function claimDue(
  db: Kysely<MessagingTables>,
  rooms: readonly { webhookId: string; room: number }[],
  keyIds: readonly string[],
): Promise<ClaimedDelivery[]> {
  if (rooms.length === 0) return [];
  const { rows } = await sql<ClaimedDelivery>`
    with due as materialized (
      select found.id
      from unnest(${rooms.map((one) => one.webhookId)}::text[], ${rooms.map((one) => one.room)}::int[])
        as r(webhook_id, room)
      cross join lateral (
        select d.id from webhook_deliveries d
        where d.webhook_id = r.webhook_id and d.due_at <= now()
        order by d.due_at, d.sequence limit r.room for update skip locked
      ) as found
    )
    update webhook_deliveries d
    set claimed = true, fence = d.fence + 1, due_at = now() + ${LIMITS.webhookLeaseMs} * interval '1 millisecond'
    from due, webhooks w
    where d.id = due.id and w.id = d.webhook_id and w.disabled_at is null
      and coalesce(w.paused_until <= now(), true) and w.key_id = any(${[...keyIds]}::text[])
    returning d.id, d.webhook_id as "webhookId", w.workspace_id as "workspaceId", d.body, d.attempts, d.fence, w.url,
      w.key_id as "keyId", w.signing_secrets as sealed`.execute(db);
  return rows;
}

/** Which of these endpoints have due deliveries. */
export async function endpointsWithDue(
  db: Kysely<MessagingTables>,
  webhookIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await sql<{ id: string }>`
    select w.id from unnest(${[...webhookIds]}::text[]) as w(id)
    where exists (select 1 from webhook_deliveries d where d.webhook_id = w.id and d.due_at <= now())
  `.execute(db);
  return new Set(rows.map(({ id }) => id));
}

export interface EndedAttempt {
  delivery: ClaimedDelivery;
  outcome: PostOutcome;
}

/** `scale` shortens days for tests; 1 otherwise. */
export interface WebhookTiming {
  scale: number;
  answerMs: number;
}

/**
 * Records attempts and their effects on their endpoints, in one transaction. Returns the endpoints that it
 * disabled.
 */
export async function recordAttempts(
  db: Kysely<MessagingTables>,
  ended: readonly EndedAttempt[],
  { scale }: WebhookTiming,
): Promise<{ webhookId: string; reason: DisabledReason }[]> {
  return db.transaction().execute(async (tx) => {
    const recorded = await updateDeliveries(tx, ended, scale);
    const byWebhook = new Map<string, EndedAttempt[]>();
    for (const one of ended) {
      const { id, webhookId } = one.delivery;
      if (recorded.has(id)) byWebhook.set(webhookId, [...(byWebhook.get(webhookId) ?? []), one]);
    }
    // Two processes may record for the same endpoints, so both use one order.
    const ids = [...byWebhook.keys()].sort();
    const disabled: { webhookId: string; reason: DisabledReason }[] = [];
    for (const webhookId of ids) {
      const reason = await settleEndpoint(tx, webhookId, byWebhook.get(webhookId) ?? [], scale);
      if (reason) disabled.push({ webhookId, reason });
    }
    return disabled;
  });
}

async function updateDeliveries(
  tx: Transaction<MessagingTables>,
  ended: readonly EndedAttempt[],
  scale: number,
): Promise<Set<string>> {
  const rows = ended.map(({ delivery: { id, fence, attempts }, outcome }) => {
    const retryMs = outcome.success ? undefined : webhookRetryMs(attempts + 1, Math.random());
    const delayMs =
      retryMs === undefined ? null : Math.round(Math.max(retryMs * scale, outcome.retryAfterMs ?? 0));
    const state = outcome.success ? 'delivered' : delayMs === null ? 'failed' : 'pending';
    return { id, fence, state, delayMs, ...outcome };
  });
  const { rows: recorded } = await sql<{ id: string }>`
    update webhook_deliveries d
    set state = g.state, attempts = d.attempts + 1, claimed = false, status = g.status, code = g.code,
      answer = g.answer, last_attempt_at = now(), due_at = now() + g.delay_ms * interval '1 millisecond'
    from unnest(${rows.map((row) => row.id)}::text[], ${rows.map((row) => row.fence)}::int[],
      ${rows.map((row) => row.state)}::text[], ${rows.map((row) => row.delayMs)}::bigint[],
      ${rows.map((row) => row.status)}::int[], ${rows.map((row) => row.code)}::text[],
      ${rows.map((row) => row.answer)}::text[]
    ) as g(id, fence, state, delay_ms, status, code, answer)
    where d.id = g.id and d.fence = g.fence and d.claimed
    returning d.id`.execute(tx);
  return new Set(recorded.map(({ id }) => id));
}

const GONE = 410;

/** One success among the attempts shows that the endpoint works. */
async function settleEndpoint(
  tx: Transaction<MessagingTables>,
  webhookId: string,
  all: readonly EndedAttempt[],
  scale: number,
): Promise<DisabledReason | undefined> {
  const ended = all.every(({ outcome }) => outcome.success) ? all : await atPresentUrl(tx, webhookId, all);
  const elsewhere = all.filter((one) => !one.outcome.success && !ended.includes(one));
  if (elsewhere.length > 0) await repeatAtOnce(tx, elsewhere);
  if (ended.length === 0) return undefined;
  const silenceMs = Math.max(0, ...ended.map(({ outcome }) => outcome.retryAfterMs ?? 0));
  if (silenceMs > 0) await pause(tx, webhookId, silenceMs);
  if (ended.some(({ outcome }) => outcome.status === GONE)) {
    return (await disable(tx, webhookId, 'gone', sql<boolean>`true`)) ? 'gone' : undefined;
  }
  if (ended.some(({ outcome }) => outcome.success)) {
    await recover(tx, webhookId, scale);
    return undefined;
  }
  await sql`
    update webhooks set failing_since = now() where id = ${webhookId} and failing_since is null`.execute(tx);
  // The first failure after a long time is no proof that the endpoint failed all the while; a failed retry is.
  if (!ended.some(({ delivery }) => delivery.attempts > 0)) return undefined;
  const failingMs = LIMITS.webhookFailingHours * 3_600_000 * scale;
  const failsForLong = sql<boolean>`failing_since <= now() - ${failingMs} * interval '1 millisecond'`;
  return (await disable(tx, webhookId, 'failing', failsForLong)) ? 'failing' : undefined;
}

/**
 * Without the attempts at a former address, because they say nothing about the one that replaced it. The row is locked, so that
 * the address is not replaced before their effects are written.
 */
async function atPresentUrl(
  tx: Transaction<MessagingTables>,
  webhookId: string,
  ended: readonly EndedAttempt[],
): Promise<EndedAttempt[]> {
  const { rows } = await sql<{ url: string }>`
    select url from webhooks where id = ${webhookId} for no key update`.execute(tx);
  return ended.filter(({ delivery }) => delivery.url === rows[0]?.url);
}

/** Deliveries that failed at a former address go to the present one, which has not been tried. */
async function repeatAtOnce(
  tx: Transaction<MessagingTables>,
  elsewhere: readonly EndedAttempt[],
): Promise<void> {
  const ids = elsewhere.map(({ delivery }) => delivery.id);
  await sql`
    update webhook_deliveries set state = 'pending', due_at = now() where id = any(${ids}::text[])`.execute(
    tx,
  );
}

async function pause(tx: Transaction<MessagingTables>, webhookId: string, ms: number): Promise<void> {
  await sql`
    update webhooks set paused_until = greatest(paused_until, now() + ${ms} * interval '1 millisecond')
    where id = ${webhookId}`.execute(tx);
}

/** Makes deliveries due that wait for hours, because the endpoint works again. */
async function recover(tx: Transaction<MessagingTables>, webhookId: string, scale: number): Promise<void> {
  const wasAwayMs = LIMITS.webhookRecoveredMs * scale;
  await sql`
    update webhook_deliveries set due_at = now()
    where webhook_id = ${webhookId} and due_at > now() and not claimed and exists (
      select from webhooks
      where id = ${webhookId} and failing_since <= now() - ${wasAwayMs} * interval '1 millisecond')`.execute(
    tx,
  );
  // Written once a second, not with every delivery.
  await sql`
    update webhooks set failing_since = null, last_success_at = now()
    where id = ${webhookId} and (
      failing_since is not null or last_success_at is null or last_success_at < now() - interval '1 second')`.execute(
    tx,
  );
}

/**
 * Waiting deliveries stay, and continue when the endpoint is enabled again. The list of endpoints shows that it
 * was disabled.
 */
async function disable(
  tx: Transaction<MessagingTables>,
  webhookId: string,
  reason: DisabledReason,
  condition: ReturnType<typeof sql<boolean>>,
): Promise<boolean> {
  const type = 'webhook.disabled';
  const body = webhookBodyOf(type, new Date().toISOString(), { webhookId, reason });
  const { rows } = await sql<{ id: string }>`
    with disabled as (
      update webhooks set disabled_at = now(), disabled_reason = ${reason}, updated_at = now()
      where id = ${webhookId} and disabled_at is null and ${condition} returning id
    )
    insert into webhook_deliveries (id, webhook_id, type, body, state, code, due_at)
    select ${newId('whd')}, id, ${type}, ${body}, 'failed', 'webhook_disabled', null from disabled
    returning id`.execute(tx);
  return rows.length > 0;
}
