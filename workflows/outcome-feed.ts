import { continueAsNew, setHandler, workflowInfo } from '@temporalio/workflow';
import { HISTORY_EVENTS } from './constants';
import { type OutcomeFeedInput, runStartedSignal } from './messages';
import { long } from './proxies';

/**
 * Followed one workspace's event feed in earlier releases. Today the watcher process follows all feeds
 * (src/campaigns/watch/feeds.ts), and nothing starts this workflow. One that is still running ends with its
 * next round.
 */
export async function outcomeFeed(input: OutcomeFeedInput): Promise<void> {
  let started = 0;
  setHandler(runStartedSignal, () => {
    started++;
  });
  for (;;) {
    const seen = started;
    const found = await long.followEvents(input);
    if (found === 'quiet' && started === seen) return;
    if (workflowInfo().historyLength > HISTORY_EVENTS) await continueAsNew<typeof outcomeFeed>(input);
  }
}
