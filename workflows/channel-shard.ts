import { condition, continueAsNew, patched, setHandler, workflowInfo } from '@temporalio/workflow';
import type { StartCallsOutcome } from '../activities/calls';
import type { SendPageOutcome } from '../activities/send';
import { nextPageSize } from '../src/domain/page-size';
import { FIRST_PAGE, GATHER_MAX_MS, GATHER_SHARE, HISTORY_EVENTS, PAGE_WORKERS_PER_SHARD } from './constants';
import { type ChannelShardInput, drainSignal, wakeSignal } from './messages';
import { sender, voice } from './proxies';

/** A paused page worker looks after this time in case a signal was lost, and later each time it finds no change. */
const LOOK_MS = 60_000;
const LOOK_MAX_MS = 30 * 60_000;

/**
 * One slice of a run's recipients on one channel: sends page after page until no recipient is left. Two page workers
 * send at once, so that one sends while the other's page is recorded. Calls need one page worker, because it starts
 * them just in time.
 */
export async function channelShard(input: ChannelShardInput): Promise<void> {
  const since = input.since;
  let pageSize = input.pageSize ?? FIRST_PAGE;
  let wakes = 0;
  let full = false;
  let drained = false;
  let isOneAside = false;
  setHandler(wakeSignal, () => {
    wakes++;
  });
  setHandler(drainSignal, () => {
    drained = true;
    wakes++;
  });

  const lanes = input.channel === 'voice' ? 1 : PAGE_WORKERS_PER_SHARD;
  await Promise.all(Array.from({ length: lanes }, (_, lane) => runPageWorker(lane)));
  if (full && !drained) await continueAsNew<typeof channelShard>({ ...input, pageSize });

  async function runPageWorker(lane: number): Promise<void> {
    let look = LOOK_MS;
    while (!full && !drained) {
      const seen = wakes;
      const woken = () => wakes > seen;
      const outcome = await nextPage(lane);
      if (outcome.kind !== 'stopped') look = LOOK_MS;
      switch (outcome.kind) {
        case 'sent':
          pageSize = nextPageSize(outcome);
          break;
        case 'started':
          break;
        case 'idle':
          if (outcome.waitMs === undefined) {
            // Woken while the page was looked for, so that there may be one by now.
            if (woken() && !drained && patched('looks-again-when-woken')) break;
            // Another page worker that stands aside has nothing left to wait for either, so wake it.
            if (isOneAside) wakes++;
            return;
          }
          isOneAside ||= 'aside' in outcome;
          await condition(woken, Math.min(LOOK_MAX_MS, Math.max(1, outcome.waitMs, gatherMs())));
          break;
        case 'backoff':
          await condition(woken, Math.min(LOOK_MAX_MS, Math.max(1, outcome.waitMs)));
          break;
        case 'stopped':
          if (outcome.control !== 'pause') return;
          await condition(woken, look);
          look = Math.min(LOOK_MAX_MS, look * 2);
      }
      full = full || workflowInfo().continueAsNewSuggested || workflowInfo().historyLength > HISTORY_EVENTS;
    }
  }

  /**
   * Retries that fall due one by one are gathered, so that one page takes them. The longer the run lasts, the
   * longer it gathers.
   */
  function gatherMs(): number {
    return Math.min(GATHER_MAX_MS, GATHER_SHARE * (Date.now() - since));
  }

  function nextPage(lane: number): Promise<SendPageOutcome | StartCallsOutcome> {
    const { runId, launch, channel, shard } = input;
    return channel === 'voice'
      ? voice.startCalls({ runId, launch, shard })
      : sender.sendPage({ runId, launch, channel, shard, lane, size: pageSize });
  }
}
