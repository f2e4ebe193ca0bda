import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { RunLaunch, RunLauncher, SendLaunch, SendLauncher } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { LaunchesInTurn, type LaunchKind } from './launches-in-turn';

type Launcher = Pick<RunLauncher, 'launch'> & Pick<SendLauncher, 'launchSend'>;

/** The launcher, with launches that wait until it is their workspace's turn. */
export function launchInTurn<Given extends Launcher>(
  db: Kysely<CampaignTables>,
  launcher: Given,
  log: Log,
): Given & { stop(): void } {
  const runs = new LaunchesInTurn(kindOfRuns(db, launcher), log);
  const sends = new LaunchesInTurn(kindOfSends(db, launcher), log);
  return {
    ...launcher,
    launch: (run) => runs.launch(run),
    launchSend: (send) => sends.launch(send),
    stop() {
      runs.stop();
      sends.stop();
    },
  };
}

/**
 * The workflow of a run and that of its first shard are new ones, whose first task waits in the common queue. Later
 * ones go to the process that has the workflow.
 */
const kindOfRuns = (db: Kysely<CampaignTables>, launcher: Launcher): LaunchKind<RunLaunch> => ({
  keyOf: ({ runId, launch }) => `${runId}:${launch}`,
  give: (run) => launcher.launch(run),
  async unstarted(launched) {
    const { rows } = await sql<{ id: string }>`
      select id from runs r where id = any(${launched.map(({ runId }) => runId)}::text[]) and phase = 'planning'
        and not exists (select from pages p where p.run_id = r.id)`.execute(db);
    const ids = new Set(rows.map(({ id }) => id));
    return launched.filter(({ runId }) => ids.has(runId));
  },
  limits: { all: LIMITS.runsLaunched, each: LIMITS.runsLaunchedEach },
});

const kindOfSends = (db: Kysely<CampaignTables>, launcher: Launcher): LaunchKind<SendLaunch> => ({
  keyOf: ({ sendId }) => sendId,
  give: (send) => launcher.launchSend(send),
  async unstarted(launched) {
    const { rows } = await sql<{ id: string }>`
      select id from durable_sends where id = any(${launched.map(({ sendId }) => sendId)}::text[])
        and started_at is null and finished_at is null`.execute(db);
    const ids = new Set(rows.map(({ id }) => id));
    return launched.filter(({ sendId }) => ids.has(sendId));
  },
  limits: { all: LIMITS.durableSendsLaunched, each: LIMITS.durableSendsLaunchedEach },
});
