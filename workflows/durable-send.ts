import { condition, continueAsNew, setHandler, workflowInfo } from '@temporalio/workflow';
import type { RecipientState } from '../src/domain/recipient';
import { HISTORY_EVENTS } from './constants';
import { type DurableSendInput, wakeSendSignal } from './messages';
import { direct, directLocal } from './proxies';

export interface DurableSendEnd {
  state: RecipientState;
  outcome: string | null;
}

/**
 * One message until its outcome is known. The send's row says what to do and when (src/campaigns/sends/send-step.ts);
 * this sleeps until then, and is woken when something happens to the row. A wake that was lost costs no more
 * than the rest of the sleep, so while an outcome is awaited that is never long.
 */
export async function durableSend(input: DurableSendInput): Promise<DurableSendEnd> {
  let wakes = 0;
  setHandler(wakeSendSignal, () => {
    wakes++;
  });
  let seen = wakes;
  let turn = await direct.actOnSend(input);
  for (;;) {
    if (turn.kind === 'ended') return { state: turn.state, outcome: turn.outcome };
    if (turn.kind === 'wait') await condition(() => wakes > seen, Math.max(1, turn.waitMs));
    if (workflowInfo().historyLength > HISTORY_EVENTS) await continueAsNew<typeof durableSend>(input);
    seen = wakes;
    turn = turn.kind === 'act' ? await direct.actOnSend(input) : await directLocal.lookAtSend(input);
  }
}
