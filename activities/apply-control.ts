import { recallWaiting } from '../src/campaigns/policy/reschedule-waiting';
import { openCalls } from '../src/campaigns/runs/cancel-run';
import {
  hasCompanion,
  loadRun,
  noteControlApplied,
  type RunPlan,
  readControl,
  readWantedControl,
} from '../src/campaigns/runs/runs';
import type { Control } from '../src/domain/campaign';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';

type Deps = Pick<ActivityDeps, 'db' | 'gatewayFor' | 'signals'>;

const WAKES_AT_ONCE = 8;

/**
 * Puts into force beyond our own pages what the operator wants of a run: recalls recipients who wait by a policy that
 * was replaced, holds or releases what the service has accepted already, and wakes sleeping calls to look at it. Answers
 * what is wanted.
 *
 * Two attempts may do this at the same time, and one that was frozen may ask for what was wanted an hour ago. So each
 * looks again after it has asked, until that is what is still wanted: the attempt that asks last has looked last. Killed
 * before the note at the end, the change counts as not applied, and the run's next look does it again.
 */
export async function applyControl(deps: Deps, runId: string): Promise<Control> {
  const { db } = deps;
  for (;;) {
    const run = await loadRun(db, runId);
    if (run.control === 'run' || run.control === 'pause') {
      await recallWaiting(db, run, { onStep: stopIfCancelled });
    }
    const { control, change } = await readWantedControl(db, runId);
    await holdOrRelease(deps, run, control);
    if ((await readControl(db, runId)) === control) {
      if (control !== 'pause' && run.channels.includes('voice')) await wakeCalls(deps, runId, control);
      await noteControlApplied(db, runId, change);
      return control;
    }
    stopIfCancelled();
  }
}

/** For a change of which the run's workflow was not told, because the process that was to tell it was killed. */
export async function applyMissedControl(deps: Deps, runId: string): Promise<void> {
  if (!(await readWantedControl(deps.db, runId)).isApplied) await applyControl(deps, runId);
}

async function holdOrRelease({ db, gatewayFor }: Deps, run: RunPlan, control: Control): Promise<void> {
  const gateway = gatewayFor(run.workspaceId);
  if (!(await gateway.capabilities()).has('holds')) return;
  if (control === 'run') await gateway.release(run.campaignId);
  // A run that fails must not hold back what another occurrence has under way.
  else if (control !== 'fail' || !(await hasCompanion(db, run))) await gateway.hold(run.campaignId);
}

async function wakeCalls({ db, signals }: Deps, runId: string, control: Control): Promise<void> {
  for (let after = -1; ; ) {
    const calls = await openCalls(db, runId, after, LIMITS.longPageSizeMax, control);
    await inParallel(calls, WAKES_AT_ONCE, (call) => signals.wakeCall({ runId, ...call, control }));
    if (calls.length < LIMITS.longPageSizeMax) return;
    after = calls.at(-1)?.seq ?? after;
  }
}
