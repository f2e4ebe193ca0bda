import type { Selectable } from 'kysely';
import { callFault } from '../../domain/call-codes';
import {
  CALL_POLICY_DEFAULT,
  type CallEnding,
  type CallOutcome,
  type CallPolicy,
  type CallResult,
  callResult,
  nextCallStep,
} from '../../domain/call-policy';
import { type CallTimes, silenceOf } from '../../domain/call-silence';
import { LIMITS } from '../../domain/limits';
import { quietHoursOf, type WorkspacePolicy } from '../../domain/policy';
import type { RecipientState } from '../../domain/recipient';
import { nextAttempt, retryPolicy } from '../../domain/retry-policy';
import { type HourRule, nextAllowed, RECIPIENT_ZONE } from '../../domain/time-zones/hours';
import { phonePrefix, phoneZones } from '../../domain/time-zones/phone-zones';
import type { CampaignTables } from '../model/tables';

export type SendRow = Selectable<CampaignTables['durable_sends']>;

/** The next step of a durable send at this moment, decided by its row alone. */
export type SendStep =
  | { kind: 'ended' }
  | { kind: 'end'; state: RecipientState; outcome?: CallOutcome; code?: string | null }
  /** This attempt is over; another one follows after `afterMs`. */
  | { kind: 'again'; afterMs: number; call?: CallResult; code: string | null }
  | { kind: 'wait'; waitMs: number }
  /** The permitted hours begin after `waitMs`. */
  | { kind: 'closed'; waitMs: number }
  | { kind: 'send' }
  /** The service has the message, and is asked to cancel it. */
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
  // A send that expires while it waits ends at that time.
  if (dueInMs > 0)
    return { kind: 'wait', waitMs: Math.min(dueInMs + graceMs(row), row.offered ? Infinity : expiresInMs) };
  // It waits until it is woken at the end of the stop, or expires.
  if (isStopped)
    return { kind: 'wait', waitMs: Math.min(STOPPED_WAIT_MS, row.offered ? Infinity : expiresInMs) };
  // A message in doubt is asked for again at any hour, because it may have been sent long ago.
  const opensInMs = row.offered ? 0 : opensAt(row, now.getTime(), policy) - now.getTime();
  return opensInMs > 0 ? { kind: 'closed', waitMs: opensInMs } : { kind: 'send' };
}

/** One that is woken in turn when it is due (watch/planned-launches.ts) goes on by itself somewhat later. */
const graceMs = ({ launch_at: launchAt, due_at: dueAt }: SendRow): number =>
  launchAt?.getTime() === dueAt.getTime() ? LIMITS.plannedGraceMs : 0;

/** A send whose wake was lost continues after this. */
const STOPPED_WAIT_MS = 10 * 60_000;

/**
 * When its own window and the workspace's quiet hours allow it, in the recipient's zones, which follow from a
 * phone number.
 */
function opensAt({ channel, content }: SendRow, at: number, policy: WorkspacePolicy | undefined): number {
  const rules: HourRule[] = content.window ? [{ kind: 'open', window: content.window }] : [];
  const quiet = quietHoursOf(policy, channel, content.class);
  if (quiet) rules.push({ kind: 'quiet', window: quiet });
  if (rules.length === 0) return at;
  const prefix = content.to.startsWith('+') ? phonePrefix(content.to) : undefined;
  const nowhere = [zoneOfNobody(content)];
  const zones = (prefix && phoneZones().get(prefix.slice(1))) || nowhere;
  // Where a country has too many zones ever to agree, the default zone decides.
  return nextAllowed(rules, zones, at) ?? nextAllowed(rules, nowhere, at) ?? at + NEVER_MS;
}

/** As in a campaign: the zone that its hours name, for recipients without a better one, such as an email address. */
function zoneOfNobody({ window }: SendRow['content']): string {
  return window?.timezone === undefined || window.timezone === RECIPIENT_ZONE ? 'UTC' : window.timezone;
}

/** If no permitted hour is found, look again after this time. */
const NEVER_MS = LIMITS.hoursSearchDays * 86_400_000;

/**
 * Waits for an outcome. A lost event is looked for at growing intervals, and a receipt that never comes ends
 * the wait.
 */
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

/** Order does not matter: calls that counted as attempts, and calls that a carrier could not place. */
function callsBefore(row: SendRow): CallResult[] {
  return [
    ...Array.from({ length: row.faults }, (): CallResult => ({ outcome: 'failed', fault: 'carrier' })),
    ...row.outcomes.map((outcome) => ({ outcome: outcome as CallOutcome })),
  ];
}

/**
 * A message that the service gave up is sent anew only if the caller asked for retries, because the service has
 * already tried for long.
 */
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
