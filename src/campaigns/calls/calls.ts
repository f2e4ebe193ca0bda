import { type Kysely, sql, type Transaction } from 'kysely';
import type { CallEnding, CallOutcome, CallStep } from '../../domain/call-policy';
import type { Control } from '../../domain/campaign';
import { databaseNow } from '../../domain/database-clock';
import { type DeliveryRule, deliveryRule, expiryOf } from '../../domain/delivery-rule';
import { DomainError } from '../../domain/errors';
import type { RecipientState } from '../../domain/recipient';
import { placeOf } from '../../domain/time-zones/phone-zones';
import type { OpenHours } from '../../domain/time-zones/recipient-hours';
import { amendRecipients, moveRecipients } from '../ledger/move-recipients';
import { retryTransaction } from '../model/retry-transaction';
import type { CampaignTables } from '../model/tables';
import { readControl } from '../runs/runs';
import { settleUnknown } from './call-events';
import { lockSlot } from './call-slots';

/**
 * Calls of a run. Each dialled attempt is a row, written before the call is asked for. A recipient on the voice
 * channel is `sending` during a call and `waiting` between two calls; their workflow ends them.
 */
export interface CallKey {
  runId: string;
  seq: number;
  /** 1 for the first call. */
  attempt: number;
}

export type CallOpening =
  | {
      kind: 'open';
      address: string;
      params: Record<string, string | number>;
      inDoubt: boolean;
      /** Latest time to dial, in milliseconds since 1970; infinite when there is none. */
      endsAt: number;
    }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> }
  /** The run has reached its limit of concurrent calls. */
  | { kind: 'later'; waitMs: number }
  /** The recipient has ended already: their workflow was started twice, or the run was canceled. */
  | { kind: 'over' };

/**
 * Writes ahead that a call is about to be placed. `inDoubt` says that an earlier attempt got at least as far. A
 * recipient whose time is over is not called any more, unless an earlier attempt may have placed the call; that
 * call holds its slot.
 */
export async function openCall(
  db: Kysely<CampaignTables>,
  key: CallKey,
  rule: Pick<DeliveryRule, 'expireAfterMs' | 'endsAtMs'> = deliveryRule(),
): Promise<CallOpening> {
  return retryTransaction(db, async (tx) => {
    const control = await readControl(tx, key.runId);
    if (control !== 'run') return { kind: 'stopped', control };
    const recipient = await tx
      .selectFrom('recipients')
      .select(['address', 'params', 'state', 'due_at', 'call_from'])
      .where('run_id', '=', key.runId)
      .where('channel', '=', 'voice')
      .where('seq', '=', key.seq)
      .forUpdate()
      .executeTakeFirst();
    if (!recipient)
      throw new DomainError('run_not_found', `Run ${key.runId} has no voice recipient ${key.seq}`);
    if (!['pending', 'waiting', 'sending'].includes(recipient.state)) return { kind: 'over' };
    // Another workflow calls the recipient anew.
    if (key.attempt < (recipient.call_from ?? 1)) return { kind: 'over' };
    // The person was erased.
    if (recipient.address === null) {
      await moveRecipient(tx, key, { state: 'suppressed', code: 'erased' });
      return { kind: 'over' };
    }
    const inDoubt = await isAskedAgain(tx, key);
    const endsAt = expiryOf(rule, recipient.due_at);
    if (!inDoubt) {
      if (databaseNow() > endsAt) {
        await moveRecipient(tx, key, { state: 'expired', code: 'expired' });
        return { kind: 'over' };
      }
      const waitMs = await lockSlot(tx, key.runId);
      if (waitMs !== undefined) return { kind: 'later', waitMs };
      await tx
        .insertInto('calls')
        .values({ run_id: key.runId, seq: key.seq, attempt: key.attempt, data: '{}', live: true })
        .execute();
    }
    await moveRecipient(tx, key, { state: 'sending', attempt: key.attempt });
    return { kind: 'open', address: recipient.address, params: recipient.params, inDoubt, endsAt };
  });
}

/**
 * Whether an earlier attempt has written the call already. Raises its fence, so that the earlier attempt can no
 * longer withdraw it.
 */
async function isAskedAgain(tx: Transaction<CampaignTables>, key: CallKey): Promise<boolean> {
  const { numUpdatedRows } = await tx
    .updateTable('calls')
    .set((eb) => ({ fence: eb('fence', '+', 1) }))
    .where('run_id', '=', key.runId)
    .where('seq', '=', key.seq)
    .where('attempt', '=', key.attempt)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}

/** `open`: the service was asked for the call, or was about to be, and nothing is known of its end. */
export async function callStanding(
  db: Kysely<CampaignTables>,
  key: CallKey,
): Promise<'none' | 'open' | 'ended'> {
  const row = await db
    .selectFrom('calls')
    .select('ended_at')
    .where('run_id', '=', key.runId)
    .where('seq', '=', key.seq)
    .where('attempt', '=', key.attempt)
    .executeTakeFirst();
  if (!row) return 'none';
  return row.ended_at ? 'ended' : 'open';
}

/** Whether the ledger has the recipient. Retention deletes those of a run that has ended. */
export async function hasRecipient(
  db: Kysely<CampaignTables>,
  { runId, seq }: Omit<CallKey, 'attempt'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('recipients')
    .select('seq')
    .where('run_id', '=', runId)
    .where('channel', '=', 'voice')
    .where('seq', '=', seq)
    .executeTakeFirst();
  return row !== undefined;
}

/** Frees the slots of the recipient's calls up to this attempt. */
async function freePlace(
  tx: Transaction<CampaignTables>,
  { runId, seq }: Omit<CallKey, 'attempt'>,
  attempt?: number,
): Promise<void> {
  await sql`
    update calls set live = null
    where run_id = ${runId} and seq = ${seq} and attempt <= coalesce(${attempt ?? null}::int, attempt) and live`.execute(
    tx,
  );
}

/**
 * Postpones a recipient who may not be called at this hour, and returns until when. Returns undefined for a
 * recipient who may be called, or whose run must not continue. A recipient whose time is over by then ends at once.
 * One whose call may be in the air stays as they are.
 */
export async function holdCall(
  db: Kysely<CampaignTables>,
  key: CallKey,
  code: string,
  nextFor: (place: string | null) => Date | undefined,
  rule: Pick<DeliveryRule, 'expireAfterMs' | 'endsAtMs'> = deliveryRule(),
): Promise<Date | 'over' | undefined> {
  return retryTransaction(db, async (tx) => {
    if ((await readControl(tx, key.runId)) !== 'run') return undefined;
    const recipient = await tx
      .selectFrom('recipients')
      .select(['place', 'address', 'state', 'due_at'])
      .where('run_id', '=', key.runId)
      .where('channel', '=', 'voice')
      .where('seq', '=', key.seq)
      .forUpdate()
      .executeTakeFirst();
    if (!recipient || !['pending', 'waiting', 'sending'].includes(recipient.state)) return undefined;
    const retryAt = nextFor(placeOf(recipient));
    if (!retryAt) return undefined;
    // The call may be in the air: while it waits to be asked for again, neither a cancel nor its time ends the recipient.
    if ((await callStanding(tx, key)) !== 'none') return retryAt;
    if (retryAt.getTime() > expiryOf(rule, recipient.due_at)) {
      await moveRecipient(tx, key, { state: 'expired', code: 'expired' });
      return 'over';
    }
    await moveRecipient(tx, key, { state: 'waiting', code, retryAt });
    return retryAt;
  });
}

/**
 * Deletes a call that was certainly not placed. It is asked for again, and does not count as an attempt.
 * Returns false and changes nothing when another attempt has asked for the call since, because it may be placed
 * by now and the row belongs to that attempt.
 */
export async function withdrawCall(db: Kysely<CampaignTables>, key: CallKey): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('calls')
    .where('run_id', '=', key.runId)
    .where('seq', '=', key.seq)
    .where('attempt', '=', key.attempt)
    .where('ended_at', 'is', null)
    .where('fence', '=', 1)
    .executeTakeFirst();
  if (numDeletedRows !== 1n) return false;
  await recount(db, key);
  return true;
}

/** Counts the recipient's attempts again, from the rows of their calls. */
async function recount(db: Kysely<CampaignTables>, key: CallKey): Promise<void> {
  await amendRecipients(db, {
    scope: key,
    rows: recipientOf(key),
    when: sql`r.attempt = ${key.attempt} and r.state = 'sending'`,
    set: { attempts: callsThatCount(key) },
  });
}

/** SQL: the recipient as a row of a move. */
const recipientOf = ({ runId, seq }: Omit<CallKey, 'attempt'>) =>
  sql`select ${runId}::text as run_id, 'voice' as channel, ${seq}::int as seq`;

export async function readCallEnding(
  db: Kysely<CampaignTables>,
  key: CallKey,
): Promise<CallEnding | undefined> {
  const row = await db
    .selectFrom('calls')
    .select(['ended_at', 'outcome', 'fault', 'data'])
    .where('run_id', '=', key.runId)
    .where('seq', '=', key.seq)
    .where('attempt', '=', key.attempt)
    .executeTakeFirst();
  if (!row?.ended_at) return undefined;
  return {
    end: row.outcome as CallEnding['end'],
    answeredBy: row.data.answeredBy as CallEnding['answeredBy'],
    told: row.data.outcome as CallEnding['told'],
    fault: (row.fault ?? undefined) as CallEnding['fault'],
  };
}

/** Stores what the workflow decided. A redial is due when the hours are open, or ends a recipient who is late then. */
export async function recordStep(
  db: Kysely<CampaignTables>,
  key: CallKey,
  step: CallStep,
  latest: CallOutcome,
  rule: Pick<DeliveryRule, 'expireAfterMs' | 'endsAtMs'> = deliveryRule(),
  nextFor: OpenHours['nextFor'] = (_, at) => at,
): Promise<void> {
  await retryTransaction(db, async (tx) => {
    const call = await tx
      .selectFrom('calls')
      .select(['code', 'fault'])
      .where('run_id', '=', key.runId)
      .where('seq', '=', key.seq)
      .where('attempt', '=', key.attempt)
      .forUpdate()
      .executeTakeFirst();
    await freePlace(tx, key, key.attempt);
    if (call?.fault === 'carrier') await recount(tx, key);
    if (step.kind === 'end') {
      const { state, outcome } = step;
      const told = state === 'delivered' ? undefined : (call?.code ?? undefined);
      const code = state === 'expired' ? 'expired' : told;
      await moveRecipient(tx, key, {
        state,
        outcome: outcome === 'suppressed' ? undefined : outcome,
        code,
        during: key.attempt,
      });
      // The end may have been reported after the workflow gave the call up.
      if (state === 'unknown') await settleUnknown(tx, key, [key]);
      return;
    }
    const recipient = await tx
      .selectFrom('recipients')
      .select(['due_at', 'place', 'address'])
      .where('run_id', '=', key.runId)
      .where('channel', '=', 'voice')
      .where('seq', '=', key.seq)
      .executeTakeFirst();
    if (!recipient) return;
    const retryAt = new Date(nextFor(placeOf(recipient), databaseNow() + step.afterSeconds * 1000));
    await moveRecipient(
      tx,
      key,
      retryAt.getTime() > expiryOf(rule, recipient.due_at)
        ? { state: 'expired', code: 'expired', outcome: latest, during: key.attempt }
        : { state: 'waiting', outcome: latest, code: call?.code ?? undefined, retryAt, during: key.attempt },
    );
  });
}

/** Number of calls to the recipient. Calls that their carrier could not place are no attempts. */
const callsThatCount = ({ runId, seq }: Omit<CallKey, 'attempt'>) => sql<number>`(
  select count(*)::smallint from calls
  where run_id = ${runId} and seq = ${seq} and fault is distinct from 'carrier')`;

export async function endRecipient(
  db: Kysely<CampaignTables>,
  key: Omit<CallKey, 'attempt'>,
  state: RecipientState,
  code: string | undefined,
): Promise<void> {
  await retryTransaction(db, async (tx) => {
    await freePlace(tx, key);
    await moveRecipient(tx, key, { state, code });
  });
}

async function moveRecipient(
  tx: Transaction<CampaignTables>,
  key: Omit<CallKey, 'attempt'>,
  to: {
    state: RecipientState;
    outcome?: string | undefined;
    code?: string | undefined;
    attempt?: number | undefined;
    retryAt?: Date | undefined;
    /**
     * Apply the change only while this attempt is the latest and no new one is asked for, because it may come
     * late.
     */
    during?: number | undefined;
  },
): Promise<void> {
  const { during = null, attempt = null } = to;
  await moveRecipients(tx, {
    scope: key,
    rule: 'call',
    rows: sql`select named.*, ${to.state}::text as state from (${recipientOf(key)}) named`,
    when: sql`(${during}::int is null or (r.attempt <= ${during}::int and coalesce(r.call_from, 1) <= ${during}::int))`,
    set: {
      code: sql`${to.code ?? null}`,
      outcome: sql`coalesce(${to.outcome ?? null}, r.outcome)`,
      attempt: sql`coalesce(${attempt}::smallint, r.attempt)`,
      attempts: sql`case when ${attempt}::smallint is null then r.attempts else ${callsThatCount(key)} end`,
      retry_at: sql`${to.retryAt?.toISOString() ?? null}::timestamptz`,
    },
  });
}

export interface CallStart {
  seq: number;
  /** The attempt that the recipient's workflow begins or began with. */
  from: number;
  /** The recipient waited for a new workflow, instead of being the shard's next one. */
  waited: boolean;
}

export async function callStarts(
  db: Kysely<CampaignTables>,
  runId: string,
  seqs: readonly number[],
): Promise<CallStart[]> {
  const { rows } = await sql<CallStart>`
    select seq, coalesce(call_from, 1) as "from", call_from is not null as waited from recipients
    where run_id = ${runId} and channel = 'voice' and seq = any(${seqs}::int[]) order by seq`.execute(db);
  return rows;
}

/**
 * Marks recipients whose workflows exist now, so that no page starts them again. The shard's next recipients
 * need no row (ledger.ts).
 */
export async function markCalling(
  db: Kysely<CampaignTables>,
  runId: string,
  starts: readonly CallStart[],
): Promise<void> {
  const again = starts.filter(({ waited }) => waited).map(({ seq }) => seq);
  if (!again.length) return;
  await moveRecipients(db, {
    scope: { runId },
    rule: 'dial',
    rows: sql`
      select ${runId}::text as run_id, 'voice' as channel, seq, 'sending' as state from unnest(${again}::int[]) as t(seq)`,
    when: sql`r.call_from > r.attempt`,
    set: { retry_at: sql`null` },
  });
}

/**
 * Marks recipients who have no workflow yet and wait for a page to start one. Without the mark they would be
 * taken for recipients whose workflow waits.
 */
export async function wantCalls(
  tx: Kysely<CampaignTables>,
  runId: string,
  seqs: readonly number[],
): Promise<void> {
  if (!seqs.length) return;
  await amendRecipients(tx, {
    scope: { runId },
    rows: sql`select ${runId}::text as run_id, 'voice' as channel, seq from unnest(${[...seqs]}::int[]) as t(seq)`,
    when: sql`r.state = 'waiting' and r.call_from is null`,
    set: { call_from: sql`r.attempt + 1` },
  });
}
