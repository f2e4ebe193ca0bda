import { cancelAbsent, cancelableRecipients, cancelUnsent, openCallSeqs } from '../src/campaigns/cancel-run';
import { readCounts, unsettled } from '../src/campaigns/ledger-counts';
import { loadRun, moveRun, readControl } from '../src/campaigns/runs';
import type { Control } from '../src/domain/campaign';
import { parseMessageUid } from '../src/domain/ids';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { pause, stopIfCancelled } from './heartbeat';

/** Between two looks at the counts; each is one query over a few dozen rows. */
const LOOK_MS = 250;
/** After so long the workflow notes that it goes on waiting. */
const ROUND_MS = 60 * 60_000;
const WAKES_AT_ONCE = 8;

/** What is done to a run as a whole. Every one may be repeated. */
export function booksActivities({ db, gatewayFor, signals }: ActivityDeps) {
  return {
    /**
     * Puts the owner's wish into force beyond our own pages: holds or releases what the service has
     * accepted already, and wakes sleeping calls to look at it. Answers what is wished.
     */
    async applyControl(input: { runId: string }): Promise<Control> {
      const run = await loadRun(db, input.runId);
      const gateway = gatewayFor(run.workspaceId);
      if ((await gateway.capabilities()).has('holds')) {
        if (run.control === 'run') await gateway.release(run.campaignId);
        else await gateway.hold(run.campaignId);
      }
      if (run.control !== 'pause' && run.channels.includes('voice')) await wakeCalls(run.runId, run.control);
      return run.control;
    },

    /** Waits until nobody is short of `sent`, and every call has ended for good. */
    async awaitSettled(input: { runId: string }): Promise<'settled' | 'canceled' | 'again'> {
      const run = await loadRun(db, input.runId);
      const tellsMore = (await gatewayFor(run.workspaceId).capabilities()).has('events');
      await moveRun(db, run.runId, 'finishing');
      for (const until = Date.now() + ROUND_MS; Date.now() < until; await pause(LOOK_MS)) {
        stopIfCancelled();
        if ((await readControl(db, run.runId)) === 'cancel') return 'canceled';
        if (unsettled(await readCounts(db, run.runId), tellsMore) === 0) return 'settled';
      }
      return 'again';
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

    async closeRun(input: {
      runId: string;
      phase: 'completed' | 'canceled' | 'failed';
      reason?: string;
    }): Promise<void> {
      await moveRun(db, input.runId, input.phase, input.reason);
    },
  };

  async function wakeCalls(runId: string, control: Control): Promise<void> {
    for (let after = -1; ; ) {
      const seqs = await openCallSeqs(db, runId, after, LIMITS.longPageSizeMax);
      await inParallel(seqs, WAKES_AT_ONCE, (seq) => signals.wakeCall({ runId, seq, control }));
      if (seqs.length < LIMITS.longPageSizeMax) return;
      after = seqs.at(-1) ?? after;
    }
  }
}
