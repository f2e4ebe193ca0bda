import { type Kysely, sql } from 'kysely';
import { type CallEnding, type CallOutcome, callResult } from '../../domain/call-policy';
import { messageUid } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import type { MachineBehaviour } from '../../domain/voice/answer-detection/machine-behaviour';
import { findRun, findRunWithRecipients } from '../model/campaign-record';
import type { CampaignTables } from '../model/tables';
import { machinePolicyOf } from '../runs/runs';

/** One call as the API shows it. `outcome` is null until the call ends. */
export interface CallRecord {
  attempt: number;
  uid: string;
  placedAt: Date;
  answeredAt: Date | null;
  endedAt: Date | null;
  outcome: CallOutcome | null;
  code: string | null;
  answeredBy: string | null;
  durationMs: number | null;
  digits: string | null;
  branch: unknown;
  said: unknown;
  recording: unknown;
  documents: unknown;
}

/** A call with its recipient, for a file that holds many recipients' calls. */
export interface CallLine extends CallRecord {
  contactId: string;
  address: string;
}

/**
 * How a run's calls ended, and how many have not. A carrier's fault is a `failed` call that does not count as
 * an attempt.
 */
export interface CallSummary {
  calls: number;
  open: number;
  carrierFaults: number;
  outcomes: Partial<Record<CallOutcome, number>>;
}

interface Row {
  seq: number;
  attempt: number;
  placed_at: Date;
  answered_at: Date | null;
  ended_at: Date | null;
  outcome: string | null;
  code: string | null;
  fault: string | null;
  data: Record<string, unknown>;
}

/** Reads a campaign's calls, one by one and in total. */
export function createCallRecords({ db }: { db: Kysely<CampaignTables> }) {
  return {
    async summary(workspaceId: string, campaignId: string, chosen?: string): Promise<CallSummary> {
      const runId = await findRun(db, workspaceId, campaignId, chosen);
      return runId ? summarize(db, runId) : { calls: 0, open: 0, carrierFaults: 0, outcomes: {} };
    },

    /** All calls of one run as they are now, by recipient. */
    async pages(
      workspaceId: string,
      campaignId: string,
      chosen?: string,
    ): Promise<AsyncIterable<CallLine[]>> {
      return callPages(db, await findRunWithRecipients(db, workspaceId, campaignId, chosen));
    },
  };
}

export type CallRecords = ReturnType<typeof createCallRecords>;

/** The latest calls of each of these recipients, oldest first. */
export async function callsOf(
  db: Kysely<CampaignTables>,
  runId: string,
  seqs: readonly number[],
): Promise<Map<number, CallRecord[]>> {
  const { rows } = await sql<Row>`
    select c.* from unnest(${seqs}::int[]) as wanted(seq) cross join lateral (
      select seq, attempt, placed_at, answered_at, ended_at, outcome, code, fault, data from calls
      where run_id = ${runId} and seq = wanted.seq order by attempt desc limit ${LIMITS.callsListed}
    ) c order by c.seq, c.attempt`.execute(db);
  const machine = await machineOf(db, runId);
  const calls = new Map<number, CallRecord[]>();
  for (const row of rows) {
    const known = calls.get(row.seq) ?? [];
    known.push(recordOf(runId, row, machine));
    calls.set(row.seq, known);
  }
  return calls;
}

async function summarize(db: Kysely<CampaignTables>, runId: string): Promise<CallSummary> {
  const { rows } = await sql<{ n: number; outcome: string | null; fault: string | null; data: object }>`
    select count(*)::int as n, outcome, fault,
      jsonb_build_object('answeredBy', data->'answeredBy', 'outcome', data->'outcome') as data
    from calls where run_id = ${runId} group by 2, 3, 4`.execute(db);
  const machine = await machineOf(db, runId);
  const summary: CallSummary = { calls: 0, open: 0, carrierFaults: 0, outcomes: {} };
  for (const { n, ...row } of rows) {
    const outcome = outcomeOf(row as Pick<Row, 'outcome' | 'fault' | 'data'>, machine);
    summary.calls += n;
    if (outcome === null) summary.open += n;
    else summary.outcomes[outcome] = (summary.outcomes[outcome] ?? 0) + n;
    if (row.fault === 'carrier') summary.carrierFaults += n;
  }
  return summary;
}

async function* callPages(db: Kysely<CampaignTables>, runId: string | undefined): AsyncGenerator<CallLine[]> {
  if (runId === undefined) return;
  const machine = await machineOf(db, runId);
  let after = { seq: -1, attempt: 0 };
  for (;;) {
    // The subqueries find recipients by primary key, whatever the planner estimates for a run that has just
    // begun.
    const { rows } = await sql<Row & { contact_id: string; address: string | null }>`
      select c.seq, c.attempt, c.placed_at, c.answered_at, c.ended_at, c.outcome, c.code, c.fault, c.data,
        r.contact_id, r.address
      from calls c cross join lateral (
        select contact_id, address from recipients
        where run_id = c.run_id and channel = 'voice' and seq = c.seq limit 1
      ) r
      where c.run_id = ${runId} and (c.seq, c.attempt) > (${after.seq}::int, ${after.attempt}::smallint)
      order by c.seq, c.attempt limit ${LIMITS.longPageSizeMax}`.execute(db);
    const last = rows.at(-1);
    if (!last) return;
    after = { seq: last.seq, attempt: last.attempt };
    yield rows.map((row) => ({
      contactId: row.contact_id,
      address: row.address ?? '',
      ...recordOf(runId, row, machine),
    }));
    if (rows.length < LIMITS.longPageSizeMax) return;
  }
}

const machineOf = async (db: Kysely<CampaignTables>, runId: string): Promise<MachineBehaviour> =>
  (await machinePolicyOf(db, [runId])).get(runId) ?? 'speak';

function recordOf(runId: string, row: Row, machine: MachineBehaviour): CallRecord {
  const { data } = row;
  return {
    attempt: row.attempt,
    uid: messageUid({ runId, channel: 'voice', seq: row.seq }, row.attempt),
    placedAt: row.placed_at,
    answeredAt: row.answered_at,
    endedAt: row.ended_at,
    outcome: outcomeOf(row, machine),
    code: row.code,
    answeredBy: textOf(data.answeredBy),
    durationMs: typeof data.durationMs === 'number' ? Math.max(0, Math.round(data.durationMs)) : null,
    digits: textOf(data.digits),
    branch: data.branch ?? null,
    said: data.said ?? null,
    recording: data.recording ?? null,
    documents: data.documents ?? null,
  };
}

function outcomeOf(
  row: Pick<Row, 'outcome' | 'fault' | 'data'>,
  machine: MachineBehaviour,
): CallOutcome | null {
  if (row.outcome === null) return null;
  const { answeredBy, outcome: told } = row.data as Pick<CallEnding, 'answeredBy'> & { outcome?: string };
  const ending = { end: row.outcome, answeredBy: answeredBy ?? undefined, told: told ?? undefined };
  return callResult({ ...ending, fault: row.fault ?? undefined } as CallEnding, machine).outcome;
}

const textOf = (value: unknown): string | null => (typeof value === 'string' ? value : null);
