import { recallWaiting } from '../src/campaigns/policy/recall-waiting';
import {
  cancelAbsent,
  cancelableRecipients,
  cancelUnsent,
  openCalls,
} from '../src/campaigns/runs/cancel-run';
import { failRun } from '../src/campaigns/runs/fail-run';
import { hasUnsent, readCounts, unsettled } from '../src/campaigns/runs/ledger-counts';
import { closeRun, dueShards, gatherMs, type ShardRef } from '../src/campaigns/runs/run-end';
import { hasCompanion, loadRun, moveRun, type RunPlan, readControl } from '../src/campaigns/runs/runs';
import type { Control } from '../src/domain/campaign';
import { parseMessageUid } from '../src/domain/ids';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import { ClosedChannels } from './closed-channels';
import type { ActivityDeps } from './deps';
import { pause, stopIfCancelled } from './heartbeat';
import { TurnWatch } from './turn-watch';

/** Between two looks at the counts; each is one query over a few dozen rows. */
const LOOK_MS = 250;
/** Between two looks for retries that are overdue, which reads recipients. */
const OVERDUE_LOOK_MS = 1_000;
/** After so long the workflow notes that it goes on waiting. */
const ROUND_MS = 60 * 60_000;
const WAKES_AT_ONCE = 8;

export type { ShardRef };

export type WatchOutcome = { kind: 'failing' } | { kind: 'again' } | { kind: 'due'; shards: ShardRef[] };

/** A shard that means to wake by itself has done so by then. */
const OVERDUE_MS = 3_000;

export type SettledOutcome =
  | { kind: 'settled' | 'canceled' | 'failed' }
  /** Nothing yet. */
  | { kind: 'again' }
  /** Somebody is to be sent to again, in these shards. */
  | { kind: 'due'; shards: ShardRef[] };

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
     * Waits, beside shards that may sleep, for a reason to stop that only the run itself knows, and for retries
     * that are overdue because their shard sleeps for longer, or has ended.
     */
    async watchRun(input: { runId: string; launch?: number }): Promise<WatchOutcome> {
      const lateMs = OVERDUE_MS + (await gatherMs(db, input.runId));
      let nextLookAt = Date.now() + lateMs;
      const turns = await turnsOf(input.runId);
      const closed = new ClosedChannels(db, input.runId);
      for (const until = Date.now() + ROUND_MS; Date.now() < until; await pause(LOOK_MS)) {
        stopIfCancelled();
        const control = await readControl(db, input.runId, input.launch);
        if (control === 'fail') return { kind: 'failing' };
        if (control !== 'run') continue;
        const turned = await turns.look();
        if (turned.length) return { kind: 'due', shards: turned };
        if (Date.now() < nextLookAt) continue;
        nextLookAt = Date.now() + OVERDUE_LOOK_MS;
        const shards = await dueShards(db, input.runId, { overdueMs: lateMs, closed: await closed.now() });
        if (shards.length) return { kind: 'due', shards };
      }
      return { kind: 'again' };
    },

    /**
     * Waits until nobody is short of `sent`, and every call has ended for good; or until retries are due, of
     * which it lets some come together.
     */
    async awaitSettled(input: { runId: string; launch?: number }): Promise<SettledOutcome> {
      const run = await loadRun(db, input.runId);
      const tellsMore = (await gatewayFor(run.workspaceId).capabilities()).has('events');
      const turns = await turnsOf(run.runId);
      const closed = new ClosedChannels(db, run.runId);
      let finishing = false;
      const gathered = Date.now() + (await gatherMs(db, run.runId));
      for (const until = Date.now() + ROUND_MS; Date.now() < until; await pause(LOOK_MS)) {
        stopIfCancelled();
        const control = await readControl(db, run.runId, input.launch);
        if (control === 'cancel') return { kind: 'canceled' };
        if (control === 'fail') return { kind: 'failed' };
        if (control === 'run') await turns.look();
        const counts = await readCounts(db, run.runId);
        if (unsettled(counts, tellsMore) === 0) return { kind: 'settled' };
        if (control === 'run' && Date.now() >= gathered) {
          const shards = await dueShards(db, run.runId, { closed: await closed.now() });
          if (shards.length) {
            await moveRun(db, run.runId, 'running');
            return { kind: 'due', shards };
          }
        }
        if (!finishing && !hasUnsent(counts)) {
          await moveRun(db, run.runId, 'finishing');
          finishing = true;
        }
      }
      return { kind: 'again' };
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

  async function turnsOf(runId: string): Promise<TurnWatch> {
    const run = await loadRun(db, runId);
    return new TurnWatch(db, run, gatewayFor(run.workspaceId));
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
