import type { EndedCall } from '../src/campaigns/calls/call-news';
import { callStarts } from '../src/campaigns/calls/calls';
import { applyEvents, readCursor } from '../src/campaigns/runs/outcomes';
import { liveRuns } from '../src/campaigns/runs/runs';
import { awaitsOutcome } from '../src/campaigns/sends/durable-sends';
import { DomainError, ERRORS, isDomainError } from '../src/domain/errors';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import type { MessageEvent } from '../src/domain/message';
import type { Gateway } from '../src/gateway/gateway';
import type { AbortWatch } from './abort-watch';
import type { ActivityDeps } from './deps';
import { pause, stopIfCancelled } from './heartbeat';

/** How long a feed is followed after the last run has ended. What comes later is found by a look (keep-feeds.ts). */
const LINGER_MS = 10 * 60_000;
/** Long polls are cut so that a stop is noticed; the heartbeat goes on meanwhile. */
const WAIT_SECONDS = 2;
/**
 * While news come in crowds the feed is read no more often than this, and up to so many pages are taken in
 * together: a statement with several parts costs a millisecond whatever is in it, and of a message whose receipt
 * follows soon one row is written instead of two.
 */
const GATHER_MS = 250;
const CROWD = 50;
const PAGES_MAX = 5;
/** The server takes some 10 ms for each; one after the other, calls would hear late that they are over. */
const SIGNALS_AT_ONCE = 16;
/** After so long the workflow notes that it goes on, well before the activity's own timeout. */
const ROUND_MS = 60 * 60_000;

export type FollowOutcome = 'again' | 'quiet';

/** Of a few somebody may wait for each; what fills its pages has more behind it. */
const mayGather = ({ length }: readonly unknown[]) =>
  length >= CROWD && length < PAGES_MAX * LIMITS.longPageSizeMax;

async function readPages(gateway: Gateway, after: string): ReturnType<Gateway['readEvents']> {
  const events: MessageEvent[] = [];
  for (let next = after, pages = 1; ; pages++) {
    const page = await gateway.readEvents(next, LIMITS.longPageSizeMax, pages === 1 ? WAIT_SECONDS : 0);
    events.push(...page.events);
    next = page.next;
    if (page.events.length < LIMITS.longPageSizeMax || pages === PAGES_MAX) return { events, next };
  }
}

export function eventActivities({ db, gatewayFor, signals, log }: ActivityDeps, abort: AbortWatch) {
  const isNeeded = async (workspaceId: string): Promise<boolean> =>
    (await liveRuns(db, workspaceId)).length > 0 || awaitsOutcome(db, workspaceId);

  return {
    /**
     * Reads the workspace's event feed into the ledger and wakes the calls that have ended. The cursor
     * moves in the transaction that takes the events in; the signals follow it, and one lost between the
     * two is made good by the call's own poll, or the durable send's.
     * A refusal ends it only where nothing waits for it: a key that was revoked is replaced, and a proxy's 404 goes
     * by, but a feed that has failed for good is missed by everybody whose outcome it was to tell.
     */
    async followEvents({ workspaceId }: { workspaceId: string }): Promise<FollowOutcome> {
      try {
        return await follow(workspaceId);
      } catch (error) {
        if (!isDomainError(error) || !['permanent', 'account'].includes(ERRORS[error.code].retry))
          throw error;
        if (!(await isNeeded(workspaceId))) return 'quiet';
        throw new DomainError('dependency_down', `The event feed cannot be read: ${error.message}`, {
          cause: error,
        });
      }
    },

    async ensureOutcomeFeed(input: { workspaceId: string }): Promise<void> {
      await signals.followOutcomes(input.workspaceId);
    },
  };

  async function follow(workspaceId: string): Promise<FollowOutcome> {
    // Noted before all that can fail: by it a look knows later that there is something to follow.
    let cursor = await readCursor(db, workspaceId);
    const gateway = gatewayFor(workspaceId);
    if (!(await gateway.capabilities()).has('events')) return 'quiet';
    const roundEnds = Date.now() + ROUND_MS;
    let quietSince = Date.now();
    while (Date.now() < roundEnds) {
      stopIfCancelled();
      const readAt = Date.now();
      const { events, next } = await readPages(gateway, cursor);
      if (events.length) {
        const taken = await applyEvents(db, workspaceId, cursor, next, events);
        if (!taken) {
          log.info({ workspaceId }, 'another reader follows this feed; this one stops');
          return 'again';
        }
        const { calls } = taken;
        await inParallel(await withStarts(calls), SIGNALS_AT_ONCE, (call) => signals.callEnded(call));
        for (const runId of taken.runs) await abort.note(runId, true);
        for (const sendId of taken.sends) await signals.wakeSend(sendId);
        cursor = next;
        quietSince = Date.now();
        if (mayGather(events) && calls.length + taken.sends.length === 0) {
          await pause(Math.max(0, readAt + GATHER_MS - Date.now()));
        }
      } else if (Date.now() - quietSince > LINGER_MS && !(await isNeeded(workspaceId))) {
        return 'quiet';
      } else {
        await pause(0);
      }
      await abort.settle();
    }
    return 'again';
  }

  /** A first attempt began the first workflow; only of a later one it must be looked up whose it is. */
  async function withStarts(calls: readonly EndedCall[]): Promise<(EndedCall & { from: number })[]> {
    const later = calls.filter((call) => call.attempt > 1);
    const starts = new Map<string, number>();
    for (const runId of new Set(later.map((call) => call.runId))) {
      const seqs = later.filter((call) => call.runId === runId).map((call) => call.seq);
      for (const { seq, from } of await callStarts(db, runId, seqs)) starts.set(`${runId}.${seq}`, from);
    }
    return calls.map((call) => ({ ...call, from: starts.get(`${call.runId}.${call.seq}`) ?? 1 }));
  }
}
