import { type Kysely, sql, type Transaction } from 'kysely';
import type { CallTimes } from '../../domain/call-silence';
import { databaseNow } from '../../domain/database-clock';
import { DomainError } from '../../domain/errors';
import { sendMessageUid } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import { capsOf, FREQUENCY_CAP, OUT_OF_HOURS, type WorkspacePolicy } from '../../domain/policy';
import type { RecipientState } from '../../domain/recipient';
import { nextAttempt, retryPolicy } from '../../domain/retry-policy';
import type { CampaignTables } from '../model/tables';
import { releaseContacts, reserveContacts } from '../policy/contact-caps';
import { policyInForce, policyVersion } from '../policy/policy';
import { isStopped } from '../stops/stops';
import { nextSendStep, pauseMs, type SendRow, type SendStep } from './send-step';

/** What a durable send's workflow does next: end, wait, or act at the service. */
export type SendState =
  | { kind: 'ended'; state: RecipientState; outcome: string | null }
  | { kind: 'wait'; waitMs: number }
  | { kind: 'act'; workspaceId: string };

/** The right of one attempt to act on a send, until another attempt claims it. */
export interface SendClaim {
  kind: 'send' | 'cancel';
  row: SendRow;
  /** An earlier attempt may have reached the service, and died before it recorded the answer. */
  inDoubt: boolean;
}

/** Updates the send by what has happened, and returns what follows. */
export async function lookAtSend(
  db: Kysely<CampaignTables>,
  sendId: string,
  times?: CallTimes,
): Promise<SendState> {
  return db.transaction().execute(async (tx) => {
    const { row, step } = await takeIn(tx, sendId, times);
    if (step.kind !== 'send' && step.kind !== 'cancel') return turnOf(row, step);
    return { kind: 'act', workspaceId: row.workspace_id };
  });
}

/**
 * The same; where the service must be asked, it also writes that it is about to be. With `offer` false, it only
 * records which attempt acts. Returns `undefined` when there is nothing to do by now.
 */
export async function claimSend(
  db: Kysely<CampaignTables>,
  sendId: string,
  offer: boolean,
  times?: CallTimes,
): Promise<SendClaim | undefined> {
  return db.transaction().execute(async (tx) => {
    const { row, step, policy } = await takeIn(tx, sendId, times);
    if (step.kind !== 'send' && step.kind !== 'cancel') return undefined;
    const inDoubt = row.offered;
    if (offer && step.kind === 'send' && !inDoubt) {
      const until = await placeFor(tx, row, policy);
      if (until) {
        await putOff(tx, row, until.getTime() - databaseNow(), FREQUENCY_CAP);
        return undefined;
      }
    }
    const { rows } = await sql<SendRow>`
      update durable_sends set fence = fence + 1,
        offered = offered or ${offer && step.kind === 'send'}, started_at = coalesce(started_at, now()), updated_at = now(),
        state = case when ${offer && step.kind === 'send'} and state in ('pending', 'waiting') then 'sending' else state end
      where id = ${sendId} returning *`.execute(tx);
    return { kind: step.kind, row: rows[0] as SendRow, inDoubt };
  });
}

type Looked = SendRow & {
  now: Date;
  policy: WorkspacePolicy | null;
  newest_policy: number;
  stopped: boolean;
};

/** The workspace's caps: when one more message is allowed, if none is now. */
async function placeFor(
  tx: Transaction<CampaignTables>,
  row: SendRow,
  policy: WorkspacePolicy | undefined,
): Promise<Date | undefined> {
  const { workspace_id: workspaceId, channel, content } = row;
  const caps = capsOf(policy, channel, content.class);
  const uid = sendMessageUid(row.id, row.attempt);
  const waits = await reserveContacts(tx, { workspaceId, channel, caps }, [{ uid, address: content.to }]);
  return waits.get(uid);
}

/** Repeats until the row's own state implies no further step. */
async function takeIn(tx: Transaction<CampaignTables>, sendId: string, times: CallTimes | undefined) {
  const { rows } = await sql<Looked>`
    select s.*, now() as now, ${policyInForce(sql`s.workspace_id`)} as policy,
      ${policyVersion(sql`s.workspace_id`)} as newest_policy, ${isStopped(sql`s.workspace_id`)} as stopped
    from durable_sends s where id = ${sendId} for update of s`.execute(tx);
  let row: Looked | undefined = rows[0];
  if (!row) throw new DomainError('not_found', `No durable send ${sendId}`);
  const { now } = row;
  const policy = row.policy ?? undefined;
  for (;;) {
    const step = nextSendStep(row, now, { policy, times, isStopped: row.stopped });
    if (step.kind === 'wait') await waitUntil(tx, sendId, step.waitMs);
    if (step.kind !== 'end' && step.kind !== 'again' && step.kind !== 'closed') return { row, step, policy };
    row = { ...row, ...(await change(tx, row, step)) };
  }
}

function change(
  tx: Transaction<CampaignTables>,
  row: Looked,
  step: Extract<SendStep, { kind: 'end' | 'again' | 'closed' }>,
): Promise<SendRow> {
  if (step.kind === 'end') return end(tx, row.id, step);
  return step.kind === 'again' ? again(tx, row, step) : putOff(tx, row, step.waitMs, OUT_OF_HOURS);
}

async function putOff(
  tx: Transaction<CampaignTables>,
  { id, newest_policy }: Looked,
  waitMs: number,
  code: string,
): Promise<SendRow> {
  const { rows } = await sql<SendRow>`
    update durable_sends set state = 'waiting', code = ${code}, policy_version = ${newest_policy}::int, due_at = now() + make_interval(secs => ${waitMs / 1000}),
      launch_at = now() + make_interval(secs => ${waitMs / 1000}), started_at = coalesce(started_at, now()), updated_at = now()
    where id = ${id} returning *`.execute(tx);
  return rows[0] as SendRow;
}

function turnOf(row: SendRow, step: SendStep): Exclude<SendState, { kind: 'act' }> {
  if (step.kind === 'wait') return step;
  return { kind: 'ended', state: row.state, outcome: row.outcome };
}

async function waitUntil(tx: Transaction<CampaignTables>, sendId: string, waitMs: number): Promise<void> {
  // For a send that waits for its outcome; the others have their time already.
  await sql`
    update durable_sends set due_at = now() + make_interval(secs => ${waitMs / 1000}),
      started_at = coalesce(started_at, now())
    where id = ${sendId} and accepted_at is not null`.execute(tx);
}

async function end(
  tx: Transaction<CampaignTables>,
  sendId: string,
  step: Extract<SendStep, { kind: 'end' }>,
): Promise<SendRow> {
  const { rows } = await sql<SendRow>`
    update durable_sends set state = ${step.state}, code = ${step.code ?? null},
      outcome = coalesce(${step.outcome ?? null}, outcome), finished_at = now(), updated_at = now()
    where id = ${sendId} returning *`.execute(tx);
  return rows[0] as SendRow;
}

async function again(
  tx: Transaction<CampaignTables>,
  row: SendRow,
  step: Extract<SendStep, { kind: 'again' }>,
): Promise<SendRow> {
  const { call } = step;
  const isFault = call?.fault === 'carrier';
  const counted = call && !isFault ? [call.outcome] : [];
  const { rows } = await sql<SendRow>`
    update durable_sends set state = 'waiting', code = ${step.code}, attempt = attempt + 1, offered = false,
      accepted_at = null, ended = null, ended_code = null, answered_by = null, told_outcome = null, sent_at = ${call ? null : sql`sent_at`},
      outcome = coalesce(${call?.outcome ?? null}, outcome),
      outcomes = outcomes || ${counted}::text[],
      faults = faults + ${isFault ? 1 : 0}::int, attempts = attempts - ${isFault ? 1 : 0}::int,
      failures = failures + ${call ? 0 : 1}::int,
      due_at = now() + make_interval(secs => ${step.afterMs / 1000}), updated_at = now()
    where id = ${row.id} returning *`.execute(tx);
  return rows[0] as SendRow;
}

/** What the service's answer means for a claimed send. */
export type SendResult =
  /** With `follow` false, the service reports nothing more, so that this is the end. */
  | { kind: 'accepted'; follow: boolean }
  | { kind: 'end'; state: RecipientState; code?: string | undefined; attempted: boolean }
  /** Certainly not taken; the try counts as an attempt. */
  | { kind: 'failed'; code: string; notBeforeMs: number }
  | { kind: 'throttled'; code: string; notBeforeMs: number }
  | { kind: 'account'; code: string }
  /** An idempotent service is asked again for the same message. */
  | { kind: 'ask_again'; code: string; afterMs: number }
  /** The service could not call the message back any more. */
  | { kind: 'late' };

/** Records the result, unless another attempt has taken the send over; then that attempt decides. */
export async function recordSend(
  db: Kysely<CampaignTables>,
  claim: SendClaim,
  result: SendResult,
  times?: CallTimes,
): Promise<SendState> {
  const { row } = claim;
  const numAffectedRows = await db.transaction().execute(async (tx) => {
    const updated = await sql`
      update durable_sends set ${changesOf(claim, result)}, updated_at = now()
      where id = ${row.id} and fence = ${row.fence} and finished_at is null`.execute(tx);
    if (updated.numAffectedRows === 1n && isUnsent(claim, result)) {
      const place = { uid: sendMessageUid(row.id, row.attempt), address: row.content.to };
      await releaseContacts(tx, row.workspace_id, [place]);
    }
    return updated.numAffectedRows;
  });
  if (numAffectedRows === 1n && result.kind === 'accepted' && result.follow) {
    return { kind: 'wait', waitMs: LIMITS.sendLookSecondsMin * 1000 };
  }
  return lookAtSend(db, row.id, times);
}

/** The message was certainly not sent, so that its reserved contact is free again. */
function isUnsent({ kind, inDoubt }: SendClaim, result: SendResult): boolean {
  // The service has called it back, or never had it.
  if (kind === 'cancel') return result.kind === 'end' && result.state === 'canceled';
  if (inDoubt) return false;
  if (result.kind === 'end') return result.state !== 'unknown';
  return result.kind === 'failed' || result.kind === 'throttled' || result.kind === 'account';
}

function changesOf({ row, inDoubt }: SendClaim, result: SendResult) {
  const later = (ms: number) => sql`now() + make_interval(secs => ${ms / 1000})`;
  switch (result.kind) {
    case 'accepted':
      // The event feed may have been faster than the answer.
      return sql`state = case when state = 'sending' then 'accepted' else state end, code = null,
        accepted_at = now(), attempts = attempts + 1, pauses = 0,
        due_at = ${later(LIMITS.sendLookSecondsMin * 1000)},
        finished_at = case when ${result.follow} then null else now() end`;
    case 'end':
      if (result.state === 'unknown') {
        return sql`${unlessTold(result.code ?? null)}, attempts = attempts + ${result.attempted ? 1 : 0}::int`;
      }
      return sql`state = ${result.state}, code = ${result.code ?? null}, finished_at = now(),
        attempts = attempts + ${result.attempted ? 1 : 0}::int`;
    case 'failed': {
      const failures = row.failures + 1;
      const delay = nextAttempt(retryPolicy(row.content.retry), failures, row.id);
      if (delay === undefined && inDoubt) {
        return sql`${unlessTold(result.code)}, failures = ${failures}::int, attempts = attempts + 1`;
      }
      if (delay === undefined) {
        return sql`state = 'failed', code = ${result.code},
          failures = ${failures}::int, attempts = attempts + 1, finished_at = now()`;
      }
      return sql`state = 'waiting', offered = ${inDoubt}, code = ${result.code}, failures = ${failures}::int,
        attempts = attempts + 1, pauses = 0, due_at = ${later(Math.max(delay * 1000, result.notBeforeMs))}`;
    }
    case 'throttled': {
      const ms = pauseMs(row.pauses, 1, LIMITS.sendThrottledSecondsMax);
      return waiting(result.code, Math.max(ms, result.notBeforeMs));
    }
    case 'account': {
      const { sendAccountSecondsMin, sendAccountSecondsMax } = LIMITS;
      return waiting(result.code, pauseMs(row.pauses, sendAccountSecondsMin, sendAccountSecondsMax));
    }
    case 'ask_again':
      return sql`code = ${result.code}, pauses = pauses + 1, due_at = ${later(result.afterMs)}`;
    case 'late':
      return sql`cancel_late = true`;
  }

  /** The event feed may have been faster and said how it ended; then that decides. */
  function unlessTold(code: string | null) {
    return sql`state = case when ended is null then 'unknown' else state end, code = ${code},
      finished_at = case when ended is null then now() end`;
  }

  function waiting(code: string, ms: number) {
    // An earlier attempt may have reached the service, so that it stays in doubt.
    return sql`state = 'waiting', offered = ${inDoubt}, code = ${code}, pauses = pauses + 1,
      due_at = ${later(ms)}`;
  }
}
