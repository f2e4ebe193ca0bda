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
 * Follows one message until its outcome is known. The send's row says what to do and when
 * (src/campaigns/sends/send-step.ts). The workflow sleeps until then, and a change of the row wakes it. A lost
 * wake costs the rest of the sleep, which is kept short while an outcome is awaited.
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
