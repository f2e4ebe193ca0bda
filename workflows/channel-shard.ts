import { condition, continueAsNew, setHandler, sleep, workflowInfo } from '@temporalio/workflow';
import type { StartCallsOutcome } from '../activities/calls';
import type { SendPageOutcome } from '../activities/send';
import { LIMITS } from '../src/domain/limits';
import { nextPageSize } from '../src/domain/page-size';
import { type ChannelShardInput, wakeSignal } from './messages';
import { sender, voice } from './proxies';

/** A resume whose signal was lost is noticed after this. */
const PAUSED_LOOK = '1m';

/**
 * One slice of a run's recipients on one channel: pages in, pages out, until nobody is left. Two lanes
 * send at once, so that one sends while the other's page is being written down; calls need but one,
 * which starts them just in time.
 */
export async function channelShard(input: ChannelShardInput): Promise<void> {
  let pageSize = input.pageSize ?? LIMITS.pageRecipients;
  let wakes = 0;
  let full = false;
  setHandler(wakeSignal, () => {
    wakes++;
  });

  const lanes = input.channel === 'voice' ? 1 : LIMITS.lanesPerShard;
  await Promise.all(Array.from({ length: lanes }, (_, lane) => runLane(lane)));
  if (full) await continueAsNew<typeof channelShard>({ ...input, pageSize });

  async function runLane(lane: number): Promise<void> {
    while (!full) {
      const seen = wakes;
      const outcome = await nextPage(lane);
      switch (outcome.kind) {
        case 'sent':
          pageSize = nextPageSize(outcome);
          break;
        case 'started':
          break;
        case 'idle':
          if (outcome.waitMs === undefined) return;
          // May be a night: whoever cancels the run meanwhile does not wait for the morning.
          await condition(() => wakes > seen, Math.max(1, outcome.waitMs));
          break;
        case 'backoff':
          await sleep(outcome.waitMs);
          break;
        case 'stopped':
          if (outcome.control !== 'pause') return;
          await condition(() => wakes > seen, PAUSED_LOOK);
      }
      full =
        full || workflowInfo().continueAsNewSuggested || workflowInfo().historyLength > LIMITS.historyEvents;
    }
  }

  function nextPage(lane: number): Promise<SendPageOutcome | StartCallsOutcome> {
    const { runId, channel, shard } = input;
    return channel === 'voice'
      ? voice.startCalls({ runId, shard })
      : sender.sendPage({ runId, channel, shard, lane, size: pageSize });
  }
}
