import { openCalls } from '../src/campaigns/actions/cancel-run';
import { recallWaiting } from '../src/campaigns/audience/reschedule-waiting';
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
 * Applies what the operator wants of a run beyond our own pages, and returns it. It recalls recipients who wait
 * under a policy that was replaced. It holds or releases the messages that the service has accepted already. It
 * wakes sleeping calls, so that they read the run's control.
 *
 * Two attempts may do this at the same time, and one that was frozen may ask for what was wanted an hour ago.
 * Therefore each attempt reads the control again after it has asked, and repeats until the two agree: the
 * attempt that asks last has also read last. If the process is killed before the note at the end, the change
 * counts as not applied, and the run's next look repeats it.
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

/**
 * Applies a change that never reached the run's workflow, because the process that was to signal it was killed. Returns
 * whether there was one.
 */
export async function applyMissedControl(deps: Deps, runId: string): Promise<boolean> {
  if ((await readWantedControl(deps.db, runId)).isApplied) return false;
  await applyControl(deps, runId);
  return true;
}

async function holdOrRelease({ db, gatewayFor }: Deps, run: RunPlan, control: Control): Promise<void> {
  const gateway = gatewayFor(run.workspaceId);
  if (!(await gateway.capabilities()).has('holds')) return;
  if (control === 'run') await gateway.release(run.campaignId);
  // A run that fails, that a gate cancels, or that waits for an approval before its first message, must not hold the
  // messages that another occurrence of its campaign has under way. What is canceled is called back one by one.
  else if (!(await hasCompanion(db, run))) await gateway.hold(run.campaignId);
}

async function wakeCalls({ db, signals }: Deps, runId: string, control: Control): Promise<void> {
  for (let after = -1; ; ) {
    const calls = await openCalls(db, runId, after, LIMITS.longPageSizeMax, control);
    await inParallel(calls, WAKES_AT_ONCE, (call) => signals.wakeCall({ runId, ...call, control }));
    if (calls.length < LIMITS.longPageSizeMax) return;
    after = calls.at(-1)?.seq ?? after;
  }
}
