import { type Kysely, sql, type Transaction } from 'kysely';
import type { AbortRule } from '../../domain/abort-threshold';
import type { CallPolicy } from '../../domain/call-policy';
import { type Control, isLive, type RunPhase } from '../../domain/campaign';
import type { Channel } from '../../domain/channel';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { WorkspacePolicy } from '../../domain/policy';
import { misfire } from '../../domain/recurrence';
import type { ReleaseOptions } from '../../domain/release';
import type { RetryPolicy } from '../../domain/retry-policy';
import type { WeeklyWindow } from '../../domain/time-zones/hours';
import { runStart } from '../../domain/time-zones/recipient-hours';
import type { MachineBehaviour } from '../../domain/voice/answer-detection/machine-behaviour';
import { databaseNow } from '../model/database-now';
import type { CampaignTables } from '../model/tables';
import { policyInForce, policyVersion } from '../policy/policy';
import { wantedControl } from '../stops/wanted-control';

/**
 * A run with its campaign's sending options. Everything but `control`, `phase` and the policy is fixed. In a
 * workspace that is stopped, `control` reads `pause` where the operator wants the run to go on.
 */
export interface RunPlan {
  runId: string;
  /** How often its workflow was launched, counting the present one. */
  launch: number;
  workspaceId: string;
  campaignId: string;
  channels: Channel[];
  settings: Partial<Record<Channel, ChannelSettings>>;
  /** Includes the campaign's own audience, which is `ownListId`. */
  contactListIds: string[];
  ownListId?: string | undefined;
  options: RunOptions;
  phase: RunPhase;
  control: Control;
  /** Version of `options.policy`; 0 when the workspace has none. */
  policyVersion: number;
  /** Version of the policy that its waiting recipients wait by (reschedule-waiting.ts). */
  followedPolicy: number;
}

export interface ChannelSettings {
  from: string;
  templateId: string;
  version: number;
}

/** The campaign options of api.md 7 that a run reads. */
export interface RunOptions {
  params?: Record<string, string | number>;
  class?: string;
  voice?: {
    retry?: CallPolicy['retry'];
    maxAttempts?: number;
    machine?: MachineBehaviour;
    ringTimeoutSeconds?: number;
    callWindow?: WeeklyWindow;
  };
  delivery?: {
    maxConcurrentCalls?: number;
    ratePerSecond?: number;
    quietHours?: WeeklyWindow;
    retry?: Partial<RetryPolicy>;
    onUnknown?: 'hold' | 'resend';
    expireAfterSeconds?: number;
  };
  abort?: AbortRule;
  release?: ReleaseOptions;
  strategy?: 'broadcast' | 'fallback';
  fallbackAfterSeconds?: number;
  exclude?: { campaignIds?: string[]; suppressionOnly?: boolean };
  schedule?: {
    startAt?: string;
    endAt?: string;
    timezone?: string;
    recipientLocal?: boolean;
    cron?: string;
    misfire?: 'send' | 'skip';
  };
  /** Local time of the run's occurrence, when each recipient has it at their own hour. */
  localTime?: string;
  /** The workspace's policy as it is now. It is not part of the campaign. */
  policy?: WorkspacePolicy;
}

export async function loadRun(db: Kysely<CampaignTables>, runId: string): Promise<RunPlan> {
  const row = await db
    .selectFrom('runs')
    .innerJoin('campaigns', 'campaigns.id', 'runs.campaign_id')
    .select(['runs.workspace_id', 'runs.campaign_id', 'runs.phase', 'runs.launches'])
    .select(wantedControl().as('control'))
    .select(['campaigns.channels', 'campaigns.settings', 'campaigns.contact_list_ids', 'campaigns.options'])
    .select(['runs.policy_version', 'runs.local_time', 'campaigns.own_list_id'])
    .select(policyInForce(sql.ref('runs.workspace_id')).as('policy'))
    .select(policyVersion(sql.ref('runs.workspace_id')).as('newest_policy'))
    .where('runs.id', '=', runId)
    .executeTakeFirst();
  if (!row) throw new DomainError('run_not_found', `Run ${runId} does not exist`);
  return {
    runId,
    launch: row.launches,
    workspaceId: row.workspace_id,
    campaignId: row.campaign_id,
    channels: row.channels,
    settings: readSettings(row.settings),
    contactListIds: row.own_list_id ? [...row.contact_list_ids, row.own_list_id] : row.contact_list_ids,
    ownListId: row.own_list_id ?? undefined,
    options: {
      ...(row.options as RunOptions),
      ...(row.local_time ? { localTime: row.local_time } : {}),
      ...(row.policy ? { policy: row.policy } : {}),
    },
    phase: row.phase,
    control: row.control,
    policyVersion: row.newest_policy,
    followedPolicy: row.policy_version ?? 0,
  };
}

/** The specification names the sender differently on each channel. */
export function readSettings(settings: Record<string, unknown>): RunPlan['settings'] {
  const { email, sms, voice } = settings as Record<Channel, Record<string, unknown> | undefined>;
  const one = (of: Record<string, unknown> | undefined, sender: string): ChannelSettings | undefined =>
    of && { from: String(of[sender]), templateId: String(of.templateId), version: Number(of.version) };
  const result: RunPlan['settings'] = {};
  const found = { email: one(email, 'fromEmail'), sms: one(sms, 'shortCode'), voice: one(voice, 'callerId') };
  for (const [channel, value] of Object.entries(found)) if (value) result[channel as Channel] = value;
  return result;
}

/**
 * Moves a live run to its next phase, and returns whether it moved. It names the phases that the run may come
 * from, so that an outdated attempt of an activity cannot move it back.
 */
export async function moveRun(
  db: Kysely<CampaignTables>,
  runId: string,
  to: RunPhase,
  reason?: string,
): Promise<boolean> {
  const result = await db
    .updateTable('runs')
    .set({
      phase: to,
      // The first reason stays, because a later one may only be its consequence.
      ...(reason === undefined ? {} : { reason: sql<string>`coalesce(reason, ${reason}::text)` }),
      ...(ENDED.includes(to) ? { finished_at: sql<Date>`now()` } : {}),
    })
    .where('id', '=', runId)
    .where('phase', 'in', COMES_FROM[to])
    .executeTakeFirst();
  return result.numUpdatedRows === 1n;
}

const ENDED: readonly RunPhase[] = ['completed', 'canceled', 'failed'];

const COMES_FROM: Record<RunPhase, RunPhase[]> = {
  planning: [],
  running: ['planning', 'finishing'],
  finishing: ['planning', 'running'],
  completed: ['planning', 'running', 'finishing'],
  canceled: ['planning', 'running', 'finishing'],
  failed: ['planning', 'running', 'finishing'],
};

/**
 * Reads what the operator wants of a run, or of one launch of it. Work of a superseded launch stops as if the
 * run had failed, whatever is wanted of its successor, and takes nothing back.
 */
export async function readControl(
  db: Kysely<CampaignTables>,
  runId: string,
  launch?: number,
): Promise<Control> {
  const row = await db
    .selectFrom('runs')
    .select([wantedControl().as('control'), 'launches'])
    .where('id', '=', runId)
    .executeTakeFirst();
  if (!row) throw new DomainError('run_not_found', `Run ${runId} does not exist`);
  return launch === undefined || launch === row.launches ? row.control : 'fail';
}

/**
 * What the operator wants of a run, the number of that change, and whether the run's messages follow it
 * already. A stop of the workspace does not change the run; follow-stops.ts signals its end.
 */
export interface WantedControl {
  control: Control;
  change: number;
  isApplied: boolean;
}

export async function readWantedControl(db: Kysely<CampaignTables>, runId: string): Promise<WantedControl> {
  const row = await db
    .selectFrom('runs')
    .select([wantedControl().as('control'), 'control_changes', 'control_applied'])
    .where('id', '=', runId)
    .executeTakeFirst();
  if (!row) throw new DomainError('run_not_found', `Run ${runId} does not exist`);
  const { control, control_changes: change, control_applied: applied } = row;
  return { control, change, isApplied: applied >= change };
}

/**
 * Counts a change that no new `control` says, such as another pace. A run that is not signalled about it, because the process
 * was killed before, finds it with its next look, which wakes its shards.
 */
export async function countChange(db: Kysely<CampaignTables>, runIds: readonly string[]): Promise<void> {
  await sql`
    with changed as (
      update runs set control_changes = control_changes + 1 where id = any(${runIds}::text[]) returning id
    )
    insert into run_looks (run_id) select id from changed`.execute(db);
}

/** Records that the run's messages follow this change. A later change is still to be applied. */
export async function noteControlApplied(
  db: Kysely<CampaignTables>,
  runId: string,
  change: number,
): Promise<void> {
  await db
    .updateTable('runs')
    .set({ control_applied: change })
    .where('id', '=', runId)
    .where('control_applied', '<', change)
    .execute();
}

/** What reaching an answering machine counts as in these runs' campaigns, where they say so. */
export async function machinePolicyOf(
  db: Kysely<CampaignTables>,
  runIds: readonly string[],
): Promise<Map<string, MachineBehaviour>> {
  const { rows } = await sql<{ id: string; machine: MachineBehaviour }>`
    select r.id, c.options->'voice'->>'machine' as machine from runs r join campaigns c on c.id = r.campaign_id
    where r.id = any(${runIds}::text[]) and c.options->'voice'->>'machine' is not null`.execute(db);
  return new Map(rows.map(({ id, machine }) => [id, machine]));
}

export interface LiveRun {
  runId: string;
  launch: number;
  workspaceId: string;
  campaignId: string;
  startAt: Date | undefined;
}

/** Runs whose workflow must exist. A run whose process was killed before it started the workflow is found here. */
export async function liveRuns(db: Kysely<CampaignTables>, workspaceId?: string): Promise<LiveRun[]> {
  let query = launches(db).where('runs.phase', 'in', ['planning', 'running', 'finishing']);
  if (workspaceId) query = query.where('runs.workspace_id', '=', workspaceId);
  return (await query.execute()).map(toLiveRun);
}

/** Of these, runs that wait for no hour and of which nothing is sent yet, the newest first. */
export async function runsNotBegun(db: Kysely<CampaignTables>): Promise<LiveRun[]> {
  const rows = await launches(db)
    .where('runs.phase', '=', 'planning')
    .where('runs.launch_at', 'is', null)
    .orderBy('runs.started_at', 'desc')
    .limit(LIMITS.runsNotBegun)
    .execute();
  return rows.map(toLiveRun);
}

const launches = (db: Kysely<CampaignTables>) =>
  db
    .selectFrom('runs')
    .innerJoin('campaigns', 'campaigns.id', 'runs.campaign_id')
    .select(['runs.id', 'runs.launches', 'runs.workspace_id', 'runs.campaign_id', 'campaigns.options']);

function toLiveRun(row: Awaited<ReturnType<ReturnType<typeof launches>['execute']>>[number]): LiveRun {
  const startAt = runStart(row.options as RunOptions);
  return {
    runId: row.id,
    launch: row.launches,
    workspaceId: row.workspace_id,
    campaignId: row.campaign_id,
    startAt: startAt === undefined ? undefined : new Date(startAt),
  };
}

/**
 * Begins the run; from here on, the run's phase is the campaign's. Returns false in three cases. The run was
 * withdrawn, because its campaign was edited, started by hand or canceled. Its time is long over, and its
 * schedule says that it is then left out. Or this launch is superseded.
 *
 * The launching process used its own clock, so that the run may not be due yet by the database's clock. Then,
 * for a workflow that sets `mayWait`, nothing changes and the answer is the time left.
 */
export async function beginRun(
  db: Kysely<CampaignTables>,
  runId: string,
  { launch, mayWait = false }: { launch?: number | undefined; mayWait?: boolean | undefined } = {},
): Promise<boolean | { waitMs: number }> {
  return db.transaction().execute(async (tx) => {
    await lockCampaignOf(tx, runId);
    const run = await tx
      .selectFrom('runs')
      .innerJoin('campaigns', 'campaigns.id', 'runs.campaign_id')
      .select(['runs.campaign_id', 'runs.phase', 'runs.launches'])
      .select(['campaigns.stage', 'campaigns.current_run', 'campaigns.options'])
      .where('runs.id', '=', runId)
      .forUpdate('runs')
      .executeTakeFirst();
    if (!run || !isLive(run.phase) || (launch !== undefined && launch !== run.launches)) return false;
    const options = run.options as RunOptions;
    // A recurring campaign stays `scheduled`, for its next occurrence.
    if (run.stage !== 'scheduled' || run.current_run !== runId || options.schedule?.cron !== undefined)
      return true;
    const now = await databaseNow(tx);
    const startAt = runStart(options);
    if (mayWait && startAt !== undefined && startAt > now) return { waitMs: startAt - now };
    await tx.updateTable('campaigns').set({ stage: 'started' }).where('id', '=', run.campaign_id).execute();
    const missed = missedStart(options, now);
    if (missed !== undefined) {
      await moveRun(tx, runId, 'canceled', missed);
      return false;
    }
    await tx.updateTable('runs').set({ started_at: sql<Date>`now()` }).where('id', '=', runId).execute();
    return true;
  });
}

/** Locks the campaign before the run, as every action on a campaign does. The other order would cause deadlocks. */
export async function lockCampaignOf(tx: Transaction<CampaignTables>, runId: string): Promise<void> {
  await sql`select id from campaigns where id = (select campaign_id from runs where id = ${runId}) for update`.execute(
    tx,
  );
}

/** Whether the campaign had a run before this one. */
export async function hasPredecessor(db: Kysely<CampaignTables>, runId: string): Promise<boolean> {
  const row = await db.selectFrom('runs').select('number').where('id', '=', runId).executeTakeFirstOrThrow();
  return row.number > 1;
}

/** Only for a run that waited for its time: a run started by hand is never treated as late. */
function missedStart(options: RunOptions, now: number): string | undefined {
  const startAt = runStart(options);
  return startAt === undefined ? undefined : misfire({ misfire: options.schedule?.misfire }, startAt, now);
}

/** Whether occurrences of its campaign go on side by side (decision 20). */
export const hasOccurrencesAtOnce = ({ schedule }: Pick<RunOptions, 'schedule'>): boolean =>
  schedule?.cron !== undefined && schedule.recipientLocal === true;

/** Whether another run of its campaign sends beside this one. */
export async function hasCompanion(
  db: Kysely<CampaignTables>,
  { runId, campaignId }: Pick<RunPlan, 'runId' | 'campaignId'>,
): Promise<boolean> {
  const row = await db
    .selectFrom('runs')
    .select('id')
    .where('campaign_id', '=', campaignId)
    .where('id', '<>', runId)
    .where('phase', 'in', ['planning', 'running', 'finishing'])
    .where('control', '=', 'run')
    .limit(1)
    .executeTakeFirst();
  return row !== undefined;
}
