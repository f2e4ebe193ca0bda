import { continueAsNew, setHandler, workflowInfo } from '@temporalio/workflow';
import { LIMITS } from '../src/domain/limits';
import { type OutcomeFeedInput, runStartedSignal } from './messages';
import { long } from './proxies';

/**
 * Follows one workspace's event feed for as long as runs need it. There is one per workspace, by its id;
 * a run that starts signals it, or starts it.
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
    if (workflowInfo().historyLength > LIMITS.historyEvents) await continueAsNew<typeof outcomeFeed>(input);
  }
}
