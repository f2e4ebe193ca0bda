import { type Kysely, sql } from 'kysely';
import { CALL_POLICY_DEFAULT, type CallEnding, callResult, endState } from '../../domain/call-policy';
import { parseSendMessageUid } from '../../domain/ids';
import type { MessageEvent } from '../../domain/message';
import { RECIPIENT_RANK, RECIPIENT_STATES, type RecipientState } from '../../domain/recipient';
import type { MachineBehaviour } from '../../domain/voice/answer-detection/machine-behaviour';
import { endingOf } from '../calls/call-events';
import { rank } from '../ledger/rank';
import type { CampaignTables } from '../model/tables';

/** What a page of the event feed says about one attempt of a durable send. */
export interface SendReport {
  sendId: string;
  attempt: number;
  /** The state to show if no further event follows. */
  state: RecipientState;
  /** Set when the attempt is over: a call's end, or a message's last state. */
  ended: string | undefined;
  code: string | undefined;
  outcome: string | undefined;
  answeredBy: string | undefined;
  told: CallEnding['told'];
  /** Of a call: how it ended, by which `state` and `outcome` are decided with the send's own `voice.machine`. */
  ending?: CallEnding;
}

/** The highest-ranking event of each attempt. Events of other messages are left out. */
export function sendReports(events: readonly MessageEvent[]): SendReport[] {
  const best = new Map<string, SendReport>();
  for (const event of events) {
    const key = parseSendMessageUid(event.uid);
    const report = key && reportOf(key, event);
    if (!report) continue;
    const known = best.get(event.uid);
    if (!known || RECIPIENT_RANK[report.state] > RECIPIENT_RANK[known.state]) best.set(event.uid, report);
  }
  return [...best.values()];
}

function reportOf(key: { sendId: string; attempt: number }, event: MessageEvent): SendReport | undefined {
  const { code } = event;
  if (event.channel === 'voice') {
    const isOfService = event.type === 'expired' || event.type === 'suppressed';
    const ending = endingOf(event);
    if (ending && !isOfService) {
      const { end, answeredBy, told } = ending;
      const { outcome } = callResult(ending, CALL_POLICY_DEFAULT.machine);
      const state = endState(outcome, CALL_POLICY_DEFAULT.machine);
      return { ...key, state, ended: end, code, outcome, answeredBy, told, ending };
    }
  }
  const state = event.state as RecipientState;
  if (!(RECIPIENT_STATES as readonly string[]).includes(state)) return undefined;
  if (RECIPIENT_RANK[state] <= RECIPIENT_RANK.accepted) return undefined;
  // A call's other events only describe its end, which is reported separately.
  if (event.channel === 'voice' && !['sent', 'expired', 'suppressed'].includes(event.type)) return undefined;
  const ended = state === 'sent' ? undefined : state;
  return { ...key, state, ended, code, outcome: undefined, answeredBy: undefined, told: undefined };
}

/**
 * Stores events of durable sends, and returns which sends must decide something because of them. For a live
 * send, the end of its attempt is stored and its workflow decides what follows, because a busy line may be
 * redialled. A send that has ended moves up in rank as receipts come; a call does so only from `unknown` to a
 * certain end.
 */
export async function storeSendReports(
  tx: Kysely<CampaignTables>,
  workspaceId: string,
  reported: readonly SendReport[],
): Promise<string[]> {
  if (!reported.length) return [];
  const reports = await withTheirMachines(tx, workspaceId, reported);
  const { rows } = await sql<{ id: string; wakes: boolean }>`
    with reports as (
      select * from unnest(
        ${reports.map((n) => n.sendId)}::text[], ${reports.map((n) => n.attempt)}::int[],
        ${reports.map((n) => n.state)}::text[], ${reports.map((n) => n.ended ?? null)}::text[],
        ${reports.map((n) => n.code ?? null)}::text[], ${reports.map((n) => n.outcome ?? null)}::text[],
        ${reports.map((n) => n.answeredBy ?? null)}::text[], ${reports.map((n) => n.told ?? null)}::text[]
      ) as t(id, attempt, state, ended, code, outcome, answered_by, told_outcome)
    ), old as (
      select r.id, r.finished_at is null as live from durable_sends r join reports result using (id)
      where r.workspace_id = ${workspaceId} and r.attempt = result.attempt and case
        when r.finished_at is null then r.ended is null or r.ended = 'unknown' or result.ended = 'delivered'
        when r.channel = 'voice' then r.state = 'unknown' and result.ended is not null
        else ${rank('result.state')} > ${rank('r.state')} end
      order by r.id for update of r
    )
    update durable_sends s set
      state = case when not old.live then n.state
        when n.ended is null and s.state in ('sending', 'accepted') then 'sent' else s.state end,
      sent_at = case when n.state in ('sent', 'delivered', 'undelivered') then coalesce(s.sent_at, now())
        else s.sent_at end,
      ended = case when old.live then coalesce(n.ended, s.ended) else s.ended end,
      ended_code = case when old.live then coalesce(n.code, s.ended_code) else s.ended_code end,
      answered_by = case when old.live then coalesce(n.answered_by, s.answered_by) else s.answered_by end,
      told_outcome = case when old.live then coalesce(n.told_outcome, s.told_outcome) else s.told_outcome end,
      code = case when old.live then s.code else n.code end,
      outcome = case when old.live then s.outcome else coalesce(n.outcome, s.outcome) end,
      updated_at = now()
    from old join reports n using (id)
    where s.id = old.id and s.attempt = n.attempt
    returning s.id, old.live and n.ended is not null as wakes`.execute(tx);
  return rows.filter((row) => row.wakes).map((row) => row.id);
}

async function withTheirMachines(
  tx: Kysely<CampaignTables>,
  workspaceId: string,
  reports: readonly SendReport[],
): Promise<readonly SendReport[]> {
  const calls = reports.filter(({ ending }) => ending);
  if (!calls.length) return reports;
  const { rows } = await sql<{ id: string; machine: MachineBehaviour }>`
    select id, content->'voice'->>'machine' as machine from durable_sends
    where workspace_id = ${workspaceId} and id = any(${calls.map(({ sendId }) => sendId)}::text[]) and content->'voice'->>'machine' is not null`.execute(
    tx,
  );
  const machines = new Map(rows.map(({ id, machine }) => [id, machine]));
  return reports.map((report) => {
    const machine = machines.get(report.sendId);
    if (!report.ending || !machine) return report;
    const { outcome } = callResult(report.ending, machine);
    return { ...report, outcome, state: endState(outcome, machine) };
  });
}
