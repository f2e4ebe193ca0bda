import { type Kysely, type RawBuilder, sql } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import { FREQUENCY_CAP, OUT_OF_HOURS } from '../../domain/policy';
import type { Log } from '../../log';
import type { RunLauncher, SendLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { policyVersion } from './policy';

const AT_ONCE = 8;

/**
 * Tells runs and durable sends that wait by a policy which was replaced: at once when it is, and once a minute
 * those that missed the signal, because a process may die in between. What they do about it they do themselves
 * (reschedule-waiting.ts). One that cannot be signalled does not keep the others waiting.
 */
export async function followPolicy(
  db: Kysely<CampaignTables>,
  launcher: Pick<RunLauncher, 'controlChanged'> & Pick<SendLauncher, 'wakeSend'>,
  log: Log,
  workspaceId?: string,
): Promise<void> {
  await inParallel(await runsBehind(db, workspaceId), AT_ONCE, async (run) => {
    await launcher.controlChanged(run).catch((error: unknown) => {
      log.warn({ err: error, runId: run.runId }, 'could not signal a run about the new policy; trying again');
    });
  });
  const sends = await putForward(db, workspaceId);
  const told = await inParallel(sends, AT_ONCE, async (send) => {
    try {
      await launcher.wakeSend(send.id);
      return [send];
    } catch (error) {
      log.warn({ err: error, sendId: send.id }, 'could not signal a send about the new policy; trying again');
      return [];
    }
  });
  await markTold(db, told.flat());
}

const isOf = (column: RawBuilder<unknown>, workspaceId: string | undefined) =>
  workspaceId === undefined ? sql`true` : sql`${column} = ${workspaceId}`;

/** A run that is being planned, or has failed, looks for itself when it goes on. */
async function runsBehind(
  db: Kysely<CampaignTables>,
  workspaceId: string | undefined,
): Promise<{ runId: string; launch: number }[]> {
  const { rows } = await sql<{ runId: string; launch: number }>`
    select id as "runId", launches as launch from runs
    where phase in ('running', 'finishing') and control in ('run', 'pause') and ${isOf(sql`workspace_id`, workspaceId)}
      and coalesce(policy_version, 0) < ${policyVersion(sql`runs.workspace_id`)}
    order by id limit ${LIMITS.runsTold}`.execute(db);
  return rows;
}

interface PutOff {
  id: string;
  version: number;
}

/**
 * Only those that still wait by a policy: one that was put off before may wait for its next attempt by now. They are due
 * now; they are marked once they were woken, or they would sleep on after a crash in between.
 */
async function putForward(db: Kysely<CampaignTables>, workspaceId: string | undefined): Promise<PutOff[]> {
  const { rows } = await sql<PutOff>`
    update durable_sends s set due_at = least(s.due_at, now()) from (
      select id, ${policyVersion(sql`d.workspace_id`)} as version from durable_sends d
      where finished_at is null and policy_version is not null and state = 'waiting' and not offered
        and code in (${OUT_OF_HOURS}, ${FREQUENCY_CAP})
        and ${isOf(sql`d.workspace_id`, workspaceId)} and policy_version < ${policyVersion(sql`d.workspace_id`)}
      order by workspace_id, id limit ${LIMITS.sendsTold} for update
    ) behind
    where s.id = behind.id
    returning s.id, behind.version`.execute(db);
  return rows;
}

async function markTold(db: Kysely<CampaignTables>, told: readonly PutOff[]): Promise<void> {
  if (told.length === 0) return;
  await sql`
    update durable_sends s set policy_version = greatest(s.policy_version, told.version)
    from unnest(${told.map(({ id }) => id)}::text[], ${told.map(({ version }) => version)}::int[]) as told(id, version)
    where s.id = told.id`.execute(db);
}
