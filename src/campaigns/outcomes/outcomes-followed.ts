import { sql, type Transaction } from 'kysely';
import type { Channel } from '../../domain/channel';
import { databaseNow } from '../../domain/database-clock';
import { type DeliveryRule, deliveryRule } from '../../domain/delivery-rule';
import { applyEvent, type RecipientEvent, type RecipientRow } from '../../domain/recipient-transitions';
import { moveRecipients } from '../ledger/move-recipients';
import type { CampaignTables } from '../model/tables';
import type { RunOptions } from '../runs/runs';

/** What the feed says about one message of a run. */
export interface Outcome extends RecipientEvent {
  runId: string;
  channel: Channel;
  seq: number;
  /** A hard bounce of an email, which also ends what was delivered. */
  isBounce: boolean;
}

/** The delivery rules of runs that may send to a recipient again. */
export type RunRules = ReadonlyMap<string, DeliveryRule>;

/**
 * SQL: which of the runs continue and may send to a recipient again, as a run `r` and its campaign `c` with
 * their condition.
 */
export const runsSendingAnew = (workspaceId: string, runIds: readonly string[]) => sql`
  runs r join campaigns c on c.id = r.campaign_id
  where r.id = any(${runIds}::text[]) and r.workspace_id = ${workspaceId} and r.phase not in ('completed', 'canceled') and r.control <> 'cancel'
    and (c.options #> '{delivery,retry}' is not null or c.options #>> '{delivery,onUnknown}' = 'resend')`;

/**
 * Reads the rules, and keeps these runs from being closed until the transaction ends. A retry is thus seen by
 * the process that closes the run; or the run is closed already, and no retry is given. A failed run may be
 * resumed, and then continues with its retries.
 */
export async function runRules(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  runIds: readonly string[],
): Promise<RunRules> {
  const { rows } = await sql<{ id: string } & Pick<RunOptions, 'delivery' | 'schedule'>>`
    select r.id, c.options -> 'delivery' as delivery, coalesce(c.options -> 'schedule', '{}') as schedule
    from ${runsSendingAnew(workspaceId, runIds)}
    order by r.id for share of r`.execute(tx);
  return new Map(rows.map((row) => [row.id, deliveryRule(row)]));
}

/**
 * Whether the recipient must be read before they are written. A recipient sent to once, in a run without
 * retries, need not be.
 */
export function isFollowed(outcome: Outcome, rules: RunRules): boolean {
  return outcome.attempt > 0 || rules.has(outcome.runId);
}

/** Reads the recipients that events concern, decides (recipient-transitions.ts), and writes those that changed. */
export async function followOutcomes(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  outcomes: readonly Outcome[],
  rules: RunRules,
): Promise<void> {
  const before = await readStandings(tx, workspaceId, outcomes);
  const after = new Map(before);
  const now = databaseNow();
  for (const outcome of [...outcomes].sort((one, other) => one.attempt - other.attempt)) {
    const standing = after.get(keyOf(outcome));
    if (!standing) continue;
    const next = applyEvent(standing, outcome, rules.get(outcome.runId), now);
    after.set(keyOf(outcome), { ...standing, ...next });
  }
  const changed = [...after].filter(([key, row]) => {
    const old = before.get(key);
    return old && (old.state !== row.state || old.attempt !== row.attempt);
  });
  if (changed.length) {
    await writeStandings(
      tx,
      workspaceId,
      changed.map(([, row]) => row),
    );
  }
}

interface Row extends RecipientRow {
  runId: string;
  channel: Channel;
  seq: number;
}

const keyOf = ({ runId, channel, seq }: Pick<Row, 'runId' | 'channel' | 'seq'>) =>
  `${runId}.${channel}.${seq}`;

async function readStandings(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  outcomes: readonly Outcome[],
): Promise<Map<string, Row>> {
  const { rows } = await sql<Omit<Row, 'doubts'> & { doubts: number[] | null }>`
    select r.run_id as "runId", r.channel, r.seq, r.state, r.code, r.attempt, r.attempts,
      r.due_at as "dueAt", r.retry_at as "retryAt", r.doubts
    from recipients r join (
      select distinct * from unnest(
        ${outcomes.map((o) => o.runId)}::text[], ${outcomes.map((o) => o.channel)}::text[],
        ${outcomes.map((o) => o.seq)}::int[]) as t(run_id, channel, seq)
    ) told using (run_id, channel, seq)
    join runs on runs.id = r.run_id and runs.workspace_id = ${workspaceId}
    order by r.run_id, r.channel, r.seq for update of r`.execute(tx);
  return new Map(rows.map((row) => [keyOf(row), { ...row, doubts: row.doubts ?? [] }]));
}

async function writeStandings(
  tx: Transaction<CampaignTables>,
  workspaceId: string,
  rows: readonly Row[],
): Promise<void> {
  await moveRecipients(tx, {
    scope: { workspaceId, runIds: [...new Set(rows.map(({ runId }) => runId))] },
    rule: 'followed',
    rows: sql`
      select * from unnest(
        ${rows.map((r) => r.runId)}::text[], ${rows.map((r) => r.channel)}::text[], ${rows.map((r) => r.seq)}::int[],
        ${rows.map((r) => r.state)}::text[], ${rows.map((r) => r.code)}::text[],
        ${rows.map((r) => r.attempt)}::smallint[], ${rows.map((r) => r.attempts)}::smallint[],
        ${rows.map((r) => r.retryAt?.toISOString() ?? null)}::timestamptz[],
        ${rows.map((r) => (r.doubts.length ? r.doubts.join(',') : null))}::text[]
      ) as t(run_id, channel, seq, state, code, attempt, attempts, retry_at, doubts)`,
    set: {
      code: sql`result.code`,
      attempt: sql`result.attempt`,
      attempts: sql`result.attempts`,
      retry_at: sql`result.retry_at`,
      doubts: sql`string_to_array(result.doubts, ',')::smallint[]`,
    },
  });
}
