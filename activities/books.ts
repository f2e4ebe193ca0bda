import { recallWaiting } from '../src/campaigns/policy/recall-waiting';
import {
  cancelAbsent,
  cancelableRecipients,
  cancelUnsent,
  openCalls,
} from '../src/campaigns/runs/cancel-run';
import { failRun } from '../src/campaigns/runs/fail-run';
import { closeRun } from '../src/campaigns/runs/run-end';
import { hasCompanion, loadRun, type RunPlan, readControl } from '../src/campaigns/runs/runs';
import type { Control } from '../src/domain/campaign';
import { parseMessageUid } from '../src/domain/ids';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';

const WAKES_AT_ONCE = 8;

/** What is done to a run as a whole. Every one may be repeated. */
export function booksActivities({ db, gatewayFor, signals }: ActivityDeps) {
  return {
    /**
     * Puts the owner's wish into force beyond our own pages: recalls who waits by a policy that was replaced,
     * holds or releases what the service has accepted already, and wakes sleeping calls to look at it. Answers
     * what is wished.
     *
     * Nobody keeps another attempt from doing the same at the same time, and one that was frozen may ask for what
     * was wished an hour ago. So each looks again after it has asked, until that is what is still wished: whoever
     * asks last has looked last.
     */
    async applyControl(input: { runId: string }): Promise<Control> {
      for (;;) {
        const run = await loadRun(db, input.runId);
        if (run.control === 'run' || run.control === 'pause') {
          await recallWaiting(db, run, { onStep: stopIfCancelled });
        }
        const control = await readControl(db, run.runId);
        await holdOrRelease(run, control);
        if ((await readControl(db, run.runId)) === control) {
          if (control !== 'pause' && run.channels.includes('voice')) await wakeCalls(run.runId, control);
          return control;
        }
        stopIfCancelled();
      }
    },

    /**
     * Takes back what can be taken back: pages that were open, retries that wait, and messages that the
     * service has not handed over. The hold stays for good, so that nothing that comes late slips through.
     */
    async cancelRemaining(input: { runId: string }): Promise<void> {
      const run = await loadRun(db, input.runId);
      const gateway = gatewayFor(run.workspaceId);
      await cancelUnsent(db, run.runId);
      if (!(await gateway.capabilities()).has('holds')) return;
      for await (const recipients of cancelableRecipients(db, run.runId, LIMITS.longPageSizeMax)) {
        stopIfCancelled();
        const answers = await inParallel(recipients, LIMITS.sendConcurrency, ({ uid }) =>
          gateway.cancel(uid),
        );
        const absent = recipients.filter((_, i) => answers[i] === 'absent');
        await cancelAbsent(
          db,
          run.runId,
          absent.flatMap(({ uid }) => parseMessageUid(uid) ?? []),
        );
      }
    },

    /** What a run throws concerns everybody: nobody more is sent to. */
    async stopRun(input: { runId: string; launch?: number; reason: string }): Promise<void> {
      await failRun(db, input.runId, input.reason, input);
    },

    /**
     * False when somebody was put back into a run that was to be completed. One whose owner wants it canceled, and
     * that fails on the way, is canceled as far as our own books go: a service that refuses us keeps what it has on hold.
     * True for a launch that another one has followed: its run was closed before that.
     */
    async closeRun(input: {
      runId: string;
      launch?: number;
      phase: 'completed' | 'canceled' | 'failed';
      reason?: string;
    }): Promise<boolean> {
      const { runId, phase, reason, launch } = input;
      if (await closeRun(db, runId, phase, reason, launch)) return true;
      if (phase !== 'failed') return false;
      await cancelUnsent(db, runId);
      return closeRun(db, runId, 'canceled', reason, launch);
    },
  };

  async function holdOrRelease(run: RunPlan, control: Control): Promise<void> {
    const gateway = gatewayFor(run.workspaceId);
    if (!(await gateway.capabilities()).has('holds')) return;
    if (control === 'run') await gateway.release(run.campaignId);
    // One that fails must not hold back what another occurrence has under way.
    else if (control !== 'fail' || !(await hasCompanion(db, run))) await gateway.hold(run.campaignId);
  }

  async function wakeCalls(runId: string, control: Control): Promise<void> {
    for (let after = -1; ; ) {
      const calls = await openCalls(db, runId, after, LIMITS.longPageSizeMax, control);
      await inParallel(calls, WAKES_AT_ONCE, (call) => signals.wakeCall({ runId, ...call, control }));
      if (calls.length < LIMITS.longPageSizeMax) return;
      after = calls.at(-1)?.seq ?? after;
    }
  }
}
