import type { Selectable } from 'kysely';
import { callFault } from '../../domain/call-codes';
import {
  CALL_POLICY_DEFAULT,
  type CallEnding,
  type CallOutcome,
  type CallPolicy,
  type CallResult,
  type CallTimes,
  callResult,
  nextCallStep,
  silenceOf,
} from '../../domain/call-policy';
import { LIMITS } from '../../domain/limits';
import { quietHoursOf, type WorkspacePolicy } from '../../domain/policy';
import type { RecipientState } from '../../domain/recipient';
import { nextAttempt, retryPolicy } from '../../domain/retry-policy';
import { type HourRule, nextAllowed, RECIPIENT_ZONE } from '../../domain/time-zones/hours';
import { phonePrefix, phoneZones } from '../../domain/time-zones/phone-zones';
import type { CampaignTables } from '../tables';

export type SendRow = Selectable<CampaignTables['durable_sends']>;

/** What is to be done about a durable send at this moment. Decided by its row alone. */
export type SendStep =
  | { kind: 'ended' }
  | { kind: 'end'; state: RecipientState; outcome?: CallOutcome; code?: string | null }
  /** This attempt is over; another one follows after a while. */
  | { kind: 'again'; afterMs: number; call?: CallResult; code: string | null }
  | { kind: 'wait'; waitMs: number }
  /** Its hours begin then. */
  | { kind: 'closed'; waitMs: number }
  | { kind: 'send' }
  /** It is at the service, and is to be called back there. */
  | { kind: 'cancel' };

export function nextSendStep(
  row: SendRow,
  now: Date,
  {
    policy,
    times = {},
    isStopped = false,
  }: { policy?: WorkspacePolicy | undefined; times?: CallTimes | undefined; isStopped?: boolean } = {},
): SendStep {
  if (row.finished_at !== null) return { kind: 'ended' };
  if (row.ended !== null)
    return row.channel === 'voice' ? afterCall(row, times) : afterMessage(row, row.ended);
  if (row.control === 'cancel' && !row.offered) return { kind: 'end', state: 'canceled' };
  if (row.control === 'cancel' && !row.cancel_late) return { kind: 'cancel' };
  if (row.accepted_at !== null) return awaitOutcome(row, row.accepted_at, now, times);
  const expiresInMs = row.content.expiresAt ? Date.parse(row.content.expiresAt) - now.getTime() : Infinity;
  if (!row.offered && expiresInMs <= 0) return { kind: 'end', state: 'expired', code: 'expired' };
  const dueInMs = row.due_at.getTime() - now.getTime();
  // One that expires while it waits is told so then.
  if (dueInMs > 0) return { kind: 'wait', waitMs: row.offered ? dueInMs : Math.min(dueInMs, expiresInMs) };
  // Until it is woken when the stop ends, or is too late.
  if (isStopped)
    return { kind: 'wait', waitMs: Math.min(STOPPED_WAIT_MS, row.offered ? Infinity : expiresInMs) };
  // What is in doubt is asked for again at any hour: it may have been sent long ago.
  const opensInMs = row.offered ? 0 : opensAt(row, now.getTime(), policy) - now.getTime();
  return opensInMs > 0 ? { kind: 'closed', waitMs: opensInMs } : { kind: 'send' };
}

/** One whose wake was lost goes on after this. */
const STOPPED_WAIT_MS = 10 * 60_000;

/** When its window and the workspace's quiet hours allow it, where its recipient may be: the zones of a phone number. */
function opensAt({ channel, content }: SendRow, at: number, policy: WorkspacePolicy | undefined): number {
  const rules: HourRule[] = content.window ? [{ kind: 'open', window: content.window }] : [];
  const quiet = quietHoursOf(policy, channel, content.class);
  if (quiet) rules.push({ kind: 'quiet', window: quiet });
  if (rules.length === 0) return at;
  const prefix = content.to.startsWith('+') ? phonePrefix(content.to) : undefined;
  const nowhere = [zoneOfNobody(content)];
  const zones = (prefix && phoneZones().get(prefix.slice(1))) || nowhere;
  // In a country so wide that its zones never agree, nobody's clock decides.
  return nextAllowed(rules, zones, at) ?? nextAllowed(rules, nowhere, at) ?? at + NEVER_MS;
}

/** As in a campaign: the zone that its hours name, for whom no better one is known, such as an email address. */
function zoneOfNobody({ window }: SendRow['content']): string {
  return window?.timezone === undefined || window.timezone === RECIPIENT_ZONE ? 'UTC' : window.timezone;
}

/** Hours that never come are looked for again later. */
const NEVER_MS = LIMITS.hoursSearchDays * 86_400_000;

/** A word that was lost is looked for more and more seldom; a receipt that never comes ends the wait. */
function awaitOutcome(row: SendRow, since: Date, now: Date, times: CallTimes): SendStep {
  const waitedMs = now.getTime() - since.getTime();
  const leftMs = LIMITS.sendOutcomeHours * 3_600_000 - waitedMs;
  if (leftMs <= 0) return { kind: 'end', state: row.state, code: row.code };
  const ringing = row.content.voice?.ringTimeoutSeconds;
  const silentMs =
    row.channel === 'voice' && row.sent_at
      ? silenceOf(times, ringing) * 1000 - (now.getTime() - row.sent_at.getTime())
      : leftMs;
  if (silentMs <= 0) return { kind: 'end', state: 'unknown', code: 'call_end_unknown' };
  const lookMs = clamp(waitedMs, LIMITS.sendLookSecondsMin * 1000, LIMITS.sendLookSecondsMax * 1000);
  return { kind: 'wait', waitMs: Math.min(lookMs, leftMs, silentMs) };
}

function afterCall(row: SendRow, times: CallTimes): SendStep {
  const { ended } = row;
  if (ended === 'expired' || ended === 'suppressed') {
    return { kind: 'end', state: ended, code: row.ended_code };
  }
  const policy = callPolicyOf(row, times);
  const ending: CallEnding = {
    end: ended as CallEnding['end'],
    answeredBy: row.answered_by ?? undefined,
    told: (row.told_outcome ?? undefined) as CallEnding['told'],
    fault: callFault(row.ended_code ?? undefined),
  };
  const latest = callResult(ending, policy.machine);
  const step = nextCallStep(policy, [...callsBefore(row), latest], row.id);
  if (step.kind === 'end') {
    return { kind: 'end', state: step.state, outcome: step.outcome, code: row.ended_code };
  }
  if (row.control === 'cancel') return { kind: 'end', state: 'canceled', outcome: latest.outcome };
  return { kind: 'again', afterMs: step.afterSeconds * 1000, call: latest, code: row.ended_code };
}

function callPolicyOf({ content: { voice = {} } }: SendRow, { faultSeconds }: CallTimes): CallPolicy {
  return {
    retry: voice.retry ?? CALL_POLICY_DEFAULT.retry,
    maxAttempts: voice.maxAttempts ?? CALL_POLICY_DEFAULT.maxAttempts,
    machine: voice.machine ?? CALL_POLICY_DEFAULT.machine,
    faultSeconds,
  };
}

/** In no order that matters: those that counted, and those that a carrier could not place. */
function callsBefore(row: SendRow): CallResult[] {
  return [
    ...Array.from({ length: row.faults }, (): CallResult => ({ outcome: 'failed', fault: 'carrier' })),
    ...row.outcomes.map((outcome) => ({ outcome: outcome as CallOutcome })),
  ];
}

/** What the service gave up is sent anew only if the caller said how often: the service has tried for long. */
function afterMessage(row: SendRow, ended: string): SendStep {
  const end: SendStep = { kind: 'end', state: ended as RecipientState, code: row.ended_code };
  if (ended !== 'failed' || row.ended_code !== 'attempts_exhausted') return end;
  if (row.control === 'cancel' || row.content.retry === undefined) return end;
  const afterSeconds = nextAttempt(retryPolicy(row.content.retry), row.failures + 1, row.id);
  return afterSeconds === undefined
    ? end
    : { kind: 'again', afterMs: afterSeconds * 1000, code: row.ended_code };
}

/** Grows from `min` to `max` seconds, doubling with every pause in a row. */
export function pauseMs(pauses: number, min: number, max: number): number {
  return Math.min(min * 2 ** Math.min(pauses, 20), max) * 1000;
}

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max);
