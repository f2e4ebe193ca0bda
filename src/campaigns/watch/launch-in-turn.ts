import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
import type { RunLaunch, RunLauncher, SendLaunch, SendLauncher, ShardWaker } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { unfinishedShards } from '../runs/planned-wake';
import { LaunchesInTurn, type LaunchKind } from './launches-in-turn';

type Launcher = Pick<RunLauncher, 'launch'> & Pick<SendLauncher, 'launchSend'> & ShardWaker;

export type InTurn<Given> = Given & {
  /** No more planned work should be taken over. */
  isFull(): boolean;
  stop(): void;
};

/** The launcher, with launches that wait until it is their workspace's turn. */
export function launchInTurn<Given extends Launcher>(
  db: Kysely<CampaignTables>,
  launcher: Given,
  log: Log,
): InTurn<Given> {
  const [runs, dueRuns] = twice(() => new LaunchesInTurn(kindOfRuns(db, launcher), log));
  const [sends, dueSends] = twice(() => new LaunchesInTurn(kindOfSends(db, launcher), log));
  const all = [runs, dueRuns, sends, dueSends];
  return {
    ...launcher,
    launch: (run) => (run.isDue ? dueRuns : runs).launch(run),
    async launchSend(send) {
      if (!send.isDue) return sends.launch(send);
      // One that was asked for during a stop and is not launched yet needs no signal, because its launch is to come.
      if (!sends.isWaiting(send)) await dueSends.launch(send);
    },
    isFull: () => dueRuns.isFull || dueSends.isFull,
    stop() {
      for (const launches of all) launches.stop();
    },
  };
}

/** What is woken does not wait for what is new, because a workspace that was stopped may have launched sends that sleep already. */
const twice = <Launches>(make: () => Launches): [Launches, Launches] => [make(), make()];

/**
 * The workflow of a run and that of its first shard are new ones, whose first task waits in the common queue. Later
 * ones go to the process that has the workflow.
 */
const kindOfRuns = (db: Kysely<CampaignTables>, launcher: Launcher): LaunchKind<RunLaunch> => ({
  keyOf: ({ runId, launch }) => `${runId}:${launch}`,
  async give(run) {
    if (!run.isAsleep) return launcher.launch(run);
    await launcher.wakeShards({ ...run, shards: await unfinishedShards(db, run.runId) });
  },
  async unstarted(launched) {
    const woken = launched.flatMap(({ runId, isAsleep }) => (isAsleep ? [runId] : []));
    const { rows } = await sql<{ id: string }>`
      select id from runs r where id = any(${launched.map(({ runId }) => runId)}::text[])
        and (phase = 'planning' or id = any(${woken}::text[]) and launch_at is null and ${hasUnsent})
        and not exists (select from pages p where p.run_id = r.id)`.execute(db);
    const ids = new Set(rows.map(({ id }) => id));
    return launched.filter(({ runId }) => ids.has(runId));
  },
  limits: { all: LIMITS.runsLaunched, each: LIMITS.runsLaunchedEach },
});

/** SQL: a run `r` with something to send. One whose shards sleep again has planned when they wake. */
const hasUnsent = sql`exists (
  select from shards s where s.run_id = r.id and (s.next_seq < s.to_seq or exists (
    select from recipients w where w.run_id = s.run_id and w.channel = s.channel and w.shard = s.shard
      and w.state = 'waiting' and w.waits and w.retry_at <= now())))`;

/** One that was put off until a window opened was started before, and sends only when it is woken. */
const kindOfSends = (db: Kysely<CampaignTables>, launcher: Launcher): LaunchKind<SendLaunch> => ({
  keyOf: ({ sendId }) => sendId,
  give: (send) => launcher.launchSend(send),
  async unstarted(launched) {
    const { rows } = await sql<{ id: string }>`
      select id from durable_sends where id = any(${launched.map(({ sendId }) => sendId)}::text[])
        and finished_at is null and (started_at is null or state = 'waiting' and due_at <= now())`.execute(
      db,
    );
    const ids = new Set(rows.map(({ id }) => id));
    return launched.filter(({ sendId }) => ids.has(sendId));
  },
  limits: { all: LIMITS.durableSendsLaunched, each: LIMITS.durableSendsLaunchedEach },
});
