import type { Kysely } from 'kysely';
import type { Log } from '../log';
import type { RunLauncher } from './ports';
import { liveRuns } from './runs';
import type { CampaignTables } from './tables';

/** A lost launch is rare, and a launch that was not lost is refused by its id: once a minute is plenty. */
const INTERVAL_MS = 60_000;

/**
 * Sees that every live run has its workflow: a process killed between a run's row and its workflow, or a
 * Temporal server that came back empty, would leave a run that nobody executes. What the run has done is
 * in the ledger, so a workflow that starts anew goes on from there.
 */
export async function keepRunsLaunched(
  db: Kysely<CampaignTables>,
  launcher: RunLauncher,
  log: Log,
): Promise<{ stop(): void }> {
  const relaunch = async (): Promise<void> => {
    for (const run of await liveRuns(db)) await launcher.launch(run);
  };
  await relaunch();
  const timer = setInterval(() => {
    relaunch().catch((error: unknown) => log.warn({ err: error }, 'live runs could not be looked through'));
  }, INTERVAL_MS);
  timer.unref();
  return { stop: () => clearInterval(timer) };
}
