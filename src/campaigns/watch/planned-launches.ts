import { type Kysely, type RawBuilder, sql } from 'kysely';
import { inParallel } from '../../domain/in-parallel';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { RunLauncher, SendLauncher, ShardWaker } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { isStopped } from '../stops/stops';
import type { InTurn } from './launch-in-turn';

type Launcher = InTurn<Pick<RunLauncher, 'launch'> & Pick<SendLauncher, 'launchSend'> & ShardWaker>;

const AT_ONCE = 8;

/**
 * Wakes what was planned when its time has come, the workspaces in turn, because Temporal would start thousands of workflows
 * that are due at nine in the order of its queue, so that those of other workspaces would wait for all of them. A row is taken over
 * by one process, which clears its `launch_at`. If that process is killed before it has woken the workflow, the workflow
 * goes on by itself after `LIMITS.plannedGraceMs`.
 */
export function wakePlanned(
  db: Kysely<CampaignTables>,
  launcher: Launcher,
  log: Log,
): { stop(): Promise<void> } {
  let isStopping = false;
  let isFailing = false;
  const look = async (): Promise<void> => {
    while (!isStopping) {
      try {
        if (!launcher.isFull()) await launchDue(db, launcher);
        isFailing = false;
      } catch (error) {
        if (!isFailing)
          log.warn(
            { err: error },
            'planned runs and sends could not be woken; they go on by themselves within a minute',
          );
        isFailing = true;
      }
      await new Promise((done) => setTimeout(done, LIMITS.plannedLookMs).unref());
    }
  };
  const looking = look();
  return {
    stop() {
      isStopping = true;
      return looking;
    },
  };
}

interface Due {
  id: string;
  workspaceId: string;
  /** Null for a send. */
  campaignId: string | null;
  launch: number;
  /** A run that has begun, whose shards sleep. */
  isAsleep: boolean;
}

/**
 * Wakes those that are due, or gives them to their workspaces' queues. Sends of a stopped workspace are woken at the end of
 * the stop (follow-stops.ts). Rejects when Temporal has not taken all.
 */
export async function launchDue(db: Kysely<CampaignTables>, launcher: Launcher): Promise<void> {
  const { rows } = await sql<Due>`
    with run as (${takeDue(sql`runs`)} returning id, workspace_id, campaign_id, launches, phase),
      send as (${takeDue(sql`durable_sends`, WHEN_HELD)} returning id, workspace_id, finished_at, ${EXPIRED} as expired)
    select id, workspace_id as "workspaceId", campaign_id as "campaignId", launches as launch,
      phase not in ('scheduled', 'planning') as "isAsleep" from run
    where phase not in ('completed', 'canceled', 'failed')
    union all
    select id, workspace_id, null, null, false from send
    where finished_at is null and (expired or not ${isStopped(sql`send.workspace_id`)})`.execute(db);
  const failures: unknown[] = [];
  const fail = (error: unknown) => void failures.push(error);
  await inParallel(rows, AT_ONCE, ({ id, workspaceId, campaignId, launch, isAsleep }) => {
    const launched =
      campaignId === null
        ? launcher.launchSend({ sendId: id, workspaceId, isDue: true })
        : launcher.launch({ runId: id, workspaceId, campaignId, launch, isDue: true, isAsleep });
    return launched.catch(fail);
  });
  if (failures.length > 0) throw failures[0];
}

/** SQL: when a send ends in any case, which a stop of its workspace does not put off; null without such a time. */
const END = sql`(content ->> 'expiresAt')::timestamptz`;
const EXPIRED = sql`coalesce(${END} <= now(), false)`;
/** SQL: when a send is looked at next, if a stop holds it. */
const WHEN_HELD = sql`case when ${isStopped(sql`durable_sends.workspace_id`)} and ${END} > now() then ${END} end`;

const takeDue = (table: RawBuilder<unknown>, next = sql`null`) => sql`
  update ${table} set launch_at = ${next}
  where id = any(array(
    select id from ${table} where launch_at <= now() order by launch_at limit ${LIMITS.plannedPerLook}
    for update skip locked))`;
