import { type Kysely, sql, type Transaction } from 'kysely';
import { callFault } from '../../domain/call-codes';
import {
  type CallEnding,
  callResult,
  endState,
  TOLD_OUTCOMES,
  type ToldOutcome,
} from '../../domain/call-policy';
import { parseMessageUid } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import { CALL_ENDS, type CallEnd, type MessageEvent } from '../../domain/message';
import { moveRecipients, type Scope } from '../ledger/move-recipients';
import type { CampaignTables } from '../model/tables';
import { machinePolicyOf } from '../runs/runs';
import type { CallKey } from './calls';

/** An ended call, for the workflow that waits for it. */
export type EndedCall = CallKey & CallEnding;

/** What one page of the event feed says about one call. */
interface CallEvents extends CallKey {
  dialledAt: string | null;
  answeredAt: string | null;
  ending: (CallEnding & { at: string; code: string | undefined }) | undefined;
  data: Record<string, unknown>;
}

/** Members of an event's data that a call's record keeps, the shorter ones first. */
const KEPT = [
  'answeredBy',
  'outcome',
  'durationMs',
  'digits',
  'recording',
  'branch',
  'said',
  'documents',
] as const;

/** Returns the calls of campaigns that a feed page ends. */
export function endedCalls(events: readonly MessageEvent[]): EndedCall[] {
  return callEvents(events).flatMap(({ runId, seq, attempt, ending }) => {
    if (!ending) return [];
    const { end, answeredBy, told, fault } = ending;
    return [{ runId, seq, attempt, end, answeredBy, told, fault }];
  });
}

/** Returns how the call ended, if the event reports an end. */
export function endingOf(event: MessageEvent): CallEnding | undefined {
  const end = endOf(event.type);
  if (!end) return undefined;
  return {
    end,
    answeredBy: wordOf(event.data?.answeredBy),
    told: TOLD_OUTCOMES.find((outcome) => outcome === event.data?.outcome) as ToldOutcome | undefined,
    fault: callFault(event.code),
  };
}

function endOf(type: string): CallEnding['end'] | undefined {
  if ((CALL_ENDS as readonly string[]).includes(type)) return type as CallEnd;
  // Ends that the service itself gives to the message, not the telephone exchange.
  return type === 'expired' || type === 'suppressed' || type === 'unknown' ? type : undefined;
}

/** A text of the carrier enters a workflow history only if it is one plain word. */
const wordOf = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[a-z_]{1,32}$/.test(value) ? value : undefined;

function callEvents(events: readonly MessageEvent[]): CallEvents[] {
  const reports = new Map<string, CallEvents>();
  for (const event of events) {
    if (event.channel !== 'voice') continue;
    const key = parseMessageUid(event.uid);
    if (key?.channel !== 'voice') continue;
    const { runId, seq, attempt } = key;
    const known: CallEvents = reports.get(event.uid) ?? {
      ...{ runId, seq, attempt, dialledAt: null, answeredAt: null, ending: undefined, data: {} },
    };
    take(known, event);
    reports.set(event.uid, known);
  }
  return [...reports.values()];
}

function take(call: CallEvents, event: MessageEvent): void {
  const { type, at, code } = event;
  if (IN_THE_AIR.includes(type)) call.dialledAt ??= at;
  if (type === 'answered') call.answeredAt ??= at;
  const ending = endingOf(event);
  // A call may be reported as ended twice. The first report counts, unless it was `unknown`.
  if (ending && (!call.ending || call.ending.end === 'unknown')) call.ending = { ...ending, at, code };
  Object.assign(call.data, keptOf(event.data));
}

const IN_THE_AIR = ['sent', 'ringing', 'answered', 'machine', 'human', 'digits', 'recording'];

function keptOf(data: Record<string, unknown> | undefined): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  let chars = 0;
  for (const name of KEPT) {
    const value = data?.[name];
    if (value === undefined || value === null) continue;
    chars += JSON.stringify(value).length;
    if (chars > LIMITS.receiptDataChars) break;
    kept[name] = value;
  }
  return kept;
}

/** Stores what events say about calls. A certain end replaces `unknown`, even after the call was closed. */
export async function storeCallEvents(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  events: readonly MessageEvent[],
): Promise<void> {
  const reports = callEvents(events);
  if (!reports.length) return;
  // An answered call rings no more, and a release stage may have waited for that (release/stage-sent.ts).
  await sql`
    with told as (
    update calls c set heard_at = now(),
      dialled_at = coalesce(c.dialled_at, n.dialled_at),
      answered_at = coalesce(c.answered_at, n.answered_at),
      ended_at = case when n.outcome is not null and (c.ended_at is null or c.outcome = 'unknown')
        then least(n.ended_at, now()) else c.ended_at end,
      code = case when n.outcome is not null and (c.ended_at is null or c.outcome = 'unknown')
        then n.code else c.code end,
      fault = case when n.outcome is not null and (c.ended_at is null or c.outcome = 'unknown')
        then n.fault else c.fault end,
      outcome = case when n.outcome is not null and (c.ended_at is null or c.outcome = 'unknown')
        then n.outcome else c.outcome end,
      live = case when n.outcome is null then c.live end,
      data = c.data || n.data
    from unnest(
      ${reports.map((n) => n.runId)}::text[], ${reports.map((n) => n.seq)}::int[], ${reports.map((n) => n.attempt)}::int[],
      ${reports.map((n) => n.dialledAt)}::timestamptz[], ${reports.map((n) => n.answeredAt)}::timestamptz[],
      ${reports.map((n) => n.ending?.at ?? null)}::timestamptz[], ${reports.map((n) => n.ending?.end ?? null)}::text[],
      ${reports.map((n) => n.ending?.code ?? null)}::text[], ${reports.map((n) => n.ending?.fault ?? null)}::text[],
      ${reports.map((n) => JSON.stringify(n.data))}::jsonb[]
    ) as n(run_id, seq, attempt, dialled_at, answered_at, ended_at, outcome, code, fault, data)
    join runs on runs.id = n.run_id and runs.workspace_id = ${workspaceId}
    where c.run_id = n.run_id and c.seq = n.seq and c.attempt = n.attempt
    returning c.run_id, n.answered_at
    )
    insert into run_looks (run_id)
    select distinct told.run_id from told join run_releases l on l.run_id = told.run_id
    join run_stages s on s.run_id = l.run_id and s.stage = l.stage and s.sent_at is null
    where told.answered_at is not null`.execute(tx);
  await settleUnknown(
    tx,
    { workspaceId, runIds: [...new Set(reports.map(({ runId }) => runId))] },
    reports.filter(({ ending }) => ending && ending.end !== 'unknown'),
  );
}

/**
 * Updates recipients that ended as `unknown` when their call's end is reported later. Their workflow is gone,
 * so this writes what it would have written.
 */
export async function settleUnknown(
  tx: Transaction<CampaignTables>,
  scope: Scope,
  keys: readonly CallKey[],
): Promise<void> {
  if (!keys.length) return;
  const { rows } = await sql<CallKey & CallEnding & { code: string | null }>`
    select c.run_id as "runId", c.seq, c.attempt, c.outcome as "end", c.code, c.fault,
      c.data->>'answeredBy' as "answeredBy", c.data->>'outcome' as told
    from unnest(
      ${keys.map((key) => key.runId)}::text[], ${keys.map((key) => key.seq)}::int[],
      ${keys.map((key) => key.attempt)}::int[]
    ) as k(run_id, seq, attempt)
    join recipients r on r.run_id = k.run_id and r.channel = 'voice' and r.seq = k.seq
      and r.attempt = k.attempt and r.state = 'unknown'
    join calls c on c.run_id = k.run_id and c.seq = k.seq and c.attempt = k.attempt
    where c.ended_at is not null and c.outcome <> 'unknown'`.execute(tx);
  if (!rows.length) return;
  const machines = await machinePolicyOf(tx, [...new Set(rows.map(({ runId }) => runId))]);
  const known = rows.map((call) => {
    const machine = machines.get(call.runId) ?? 'speak';
    const { outcome } = callResult(call, machine);
    return { ...call, outcome, state: endState(outcome, machine) };
  });
  await moveRecipients(tx, {
    scope,
    rule: 'learned',
    rows: sql`
      select t.*, 'voice' as channel from unnest(
        ${known.map((call) => call.runId)}::text[], ${known.map((call) => call.seq)}::int[],
        ${known.map((call) => call.attempt)}::int[], ${known.map((call) => call.state)}::text[],
        ${known.map((call) => call.outcome)}::text[],
        ${known.map((call) => (call.state === 'delivered' ? null : call.code))}::text[]
      ) as t(run_id, seq, attempt, state, outcome, code)`,
    when: sql`r.attempt = result.attempt`,
    set: { outcome: sql`result.outcome`, code: sql`result.code` },
  });
}

/**
 * Ends a call that has been silent for so long that no event will follow; its outcome is `unknown`. The silence
 * is counted from the last event about the call. A call that the service still holds has not rung, so it is not
 * counted. At a service that never reports the dialling, the limit is `sendOutcomeHours` after the request.
 */
export async function endSilentCall(
  db: Kysely<CampaignTables>,
  key: CallKey,
  silenceSeconds: number,
): Promise<boolean> {
  const { numAffectedRows } = await sql`
    update calls c set ended_at = now(), outcome = 'unknown', code = 'call_end_unknown', live = null
    where run_id = ${key.runId} and seq = ${key.seq} and attempt = ${key.attempt} and ended_at is null
      and case when dialled_at is not null
        then heard_at < now() - make_interval(secs => ${silenceSeconds}::float8)
        else placed_at < now() - make_interval(hours => ${LIMITS.sendOutcomeHours}::int)
          and exists (select 1 from runs where id = c.run_id and control = 'run') end`.execute(db);
  return numAffectedRows === 1n;
}
