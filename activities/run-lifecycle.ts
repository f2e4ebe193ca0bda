import { cancelAbsent, cancelableRecipients, cancelUnsent } from '../src/campaigns/actions/cancel-run';
import { databaseNow } from '../src/campaigns/model/database-now';
import { type Place, releaseContacts } from '../src/campaigns/policy/contact-caps';
import type { RecipientView } from '../src/campaigns/reports/recipients';
import { failRun } from '../src/campaigns/runs/fail-run';
import { closeRun } from '../src/campaigns/runs/run-end';
import { loadRun } from '../src/campaigns/runs/runs';
import { takeOccurrence } from '../src/campaigns/schedules/recurring';
import { isScheduled } from '../src/campaigns/schedules/schedule-reconciler';
import type { Control } from '../src/domain/campaign';
import { parseMessageUid } from '../src/domain/ids';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import { applyControl } from './apply-control';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';

/** Steps that concern a run as a whole. Each may be repeated. */
export function runLifecycleActivities(deps: ActivityDeps) {
  const { db, gatewayFor } = deps;
  return {
    /** Applies what the operator wants of the run, and returns it. */
    applyControl: (input: { runId: string }): Promise<Control> => applyControl(deps, input.runId),

    /**
     * Takes back what can be taken back: open pages, waiting retries, and messages that the service has not
     * handed over. The hold stays for good, so that a message that arrives late is not sent either.
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
        // Before they are recorded, because afterwards nothing would find them again.
        await releaseContacts(db, run.workspaceId, placesOf(absent));
        await cancelAbsent(
          db,
          run.runId,
          absent.flatMap(({ uid }) => parseMessageUid(uid) ?? []),
        );
      }
    },

    /** Stops the whole run, because the error does not concern one recipient: no further recipient is sent to. */
    async stopRun(input: { runId: string; launch?: number; reason: string }): Promise<void> {
      await failRun(db, input.runId, input.reason, input);
    },

    /**
     * Returns false when a recipient was put back into a run that was to be completed, and when it is to be canceled
     * by now. If the operator wants the run canceled and it fails on the way, it is canceled in our own tables: a
     * service that refuses us keeps its messages on hold. Returns true for a launch that was followed by another,
     * because its run was closed before that.
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
}

/** Nothing counts towards the caps of a person who was erased. */
const placesOf = (recipients: readonly RecipientView[]): Place[] =>
  recipients.flatMap(({ uid, address }) => (address === null ? [] : [{ uid, address }]));

export function occurrenceActivities({ db, signals }: ActivityDeps) {
  return {
    /**
     * Creates and launches the run of a schedule's due occurrence. Repeated, it launches the same run. If a
     * schedule fires for a campaign without one, a stalled process recreated it; delete it.
     */
    async takeOccurrence(input: {
      campaignId: string;
      workspaceId: string;
      scheduledFor: number | null;
    }): Promise<{ runId: string | null }> {
      const { campaignId, workspaceId, scheduledFor } = input;
      const run = await takeOccurrence(
        db,
        { campaignId, workspaceId },
        Math.max(await databaseNow(db), scheduledFor ?? 0),
      );
      if (run) await signals.launchRun({ campaignId, workspaceId, ...run });
      else if (!(await isScheduled(db, campaignId))) await signals.removeSchedule(campaignId);
      return { runId: run?.runId ?? null };
    },
  };
}
