import { endedCalls } from '../src/campaigns/calls';
import { awaitsOutcome } from '../src/campaigns/durable-sends';
import { applyEvents, readCursor } from '../src/campaigns/outcomes';
import { liveRuns } from '../src/campaigns/runs';
import { LIMITS } from '../src/domain/limits';
import type { ActivityDeps } from './deps';
import { pause, stopIfCancelled } from './heartbeat';

/** How long a feed is followed after the last run has ended: receipts still come in. */
const LINGER_MS = 10 * 60_000;
/** Long polls are cut so that a stop is noticed; the heartbeat goes on meanwhile. */
const WAIT_SECONDS = 2;
/** After so long the workflow notes that it goes on, well before the activity's own timeout. */
const ROUND_MS = 60 * 60_000;

export type FollowOutcome = 'again' | 'quiet';

export function eventActivities({ db, gatewayFor, signals, log }: ActivityDeps) {
  const isNeeded = async (workspaceId: string): Promise<boolean> =>
    (await liveRuns(db, workspaceId)).length > 0 || awaitsOutcome(db, workspaceId);

  return {
    /**
     * Reads the workspace's event feed into the ledger and wakes the calls that have ended. The cursor
     * moves in the transaction that takes the events in; the signals follow it, and one lost between the
     * two is made good by the call's own poll, or the durable send's.
     */
    async followEvents(input: { workspaceId: string }): Promise<FollowOutcome> {
      const { workspaceId } = input;
      const gateway = gatewayFor(workspaceId);
      if (!(await gateway.capabilities()).has('events')) return 'quiet';
      const roundEnds = Date.now() + ROUND_MS;
      let quietSince = Date.now();
      let cursor = await readCursor(db, workspaceId);
      while (Date.now() < roundEnds) {
        stopIfCancelled();
        const { events, next } = await gateway.readEvents(cursor, LIMITS.longPageSizeMax, WAIT_SECONDS);
        if (events.length) {
          const calls = endedCalls(events);
          const taken = await applyEvents(db, workspaceId, cursor, next, events, calls);
          if (!taken) {
            log.info({ workspaceId }, 'another reader follows this feed; this one stops');
            return 'again';
          }
          for (const call of calls) await signals.callEnded(call);
          for (const sendId of taken.sends) await signals.wakeSend(sendId);
          cursor = next;
          quietSince = Date.now();
        } else if (Date.now() - quietSince > LINGER_MS && !(await isNeeded(workspaceId))) {
          return 'quiet';
        } else {
          await pause(0);
        }
      }
      return 'again';
    },

    async ensureOutcomeFeed(input: { workspaceId: string }): Promise<void> {
      await signals.followOutcomes(input.workspaceId);
    },
  };
}
