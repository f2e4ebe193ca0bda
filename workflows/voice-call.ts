import { condition, setHandler } from '@temporalio/workflow';
import type { CallEnding } from '../src/campaigns/calls';
import { type CallOutcome, callOutcome, nextCallStep } from '../src/domain/call-policy';
import { callEndedSignal, type VoiceCallInput, wakeCallSignal } from './messages';
import { voice, voiceLocal } from './proxies';

/** How long a call's end is waited for before the ledger is asked, in case the signal was lost. */
const POLL = '20s';
const PAUSED_LOOK = '1m';

/**
 * One person on the voice channel: call, wait for the end, decide by the policy's table, wait, call
 * again. May live for days; between two calls it is a timer.
 */
export async function voiceCall(input: VoiceCallInput): Promise<void> {
  const { runId, seq, policy } = input;
  const endings = new Map<number, CallEnding>();
  let wakes = 0;
  let canceled = false;
  setHandler(callEndedSignal, ({ attempt, ...ending }) => {
    // The same end may be told twice: the first telling stands, unless it was a doubt.
    const told = endings.get(attempt);
    if (!told || told.end === 'unknown') endings.set(attempt, ending);
  });
  setHandler(wakeCallSignal, (control) => {
    wakes++;
    canceled ||= control === 'cancel';
  });

  const outcomes: CallOutcome[] = [];
  for (;;) {
    const attempt = outcomes.length + 1;
    const key = { runId, seq, attempt };
    if (!(await place())) return;
    const ending = await ended();
    outcomes.push(callOutcome(ending.end, ending.answeredBy, policy.machine));
    const step = nextCallStep(policy, outcomes);
    await voiceLocal.recordCall({ ...key, step, latest: outcomes.at(-1) as CallOutcome });
    if (step.kind === 'end') return;
    // A resumed run dials no sooner than the table says; a canceled one has nothing to wait for.
    if (step.afterSeconds > 0) await condition(() => canceled, step.afterSeconds * 1000);

    /** False when there is nobody to call any more. */
    async function place(): Promise<boolean> {
      for (;;) {
        const before = wakes;
        const placed = await voice.placeCall(key);
        if (placed.kind === 'placed') return true;
        if (placed.kind === 'over') return false;
        if (placed.kind === 'later') {
          // May be a night.
          await condition(() => wakes > before, placed.waitMs);
        } else if (placed.control === 'cancel') {
          await voiceLocal.cancelCallRecipient({ runId, seq });
          return false;
        } else {
          await condition(() => wakes > before, PAUSED_LOOK);
        }
      }
    }

    async function ended(): Promise<CallEnding> {
      for (;;) {
        if (await condition(() => endings.has(attempt), POLL)) return endings.get(attempt) as CallEnding;
        const stored = await voiceLocal.readCall(key);
        if (stored) return stored;
      }
    }
  }
}
