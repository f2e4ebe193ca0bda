import {
  condition,
  continueAsNew,
  isCancellation,
  patched,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import type { PlaceCallOutcome } from '../activities/calls';
import { type CallEnding, type CallResult, callResult, nextCallStep } from '../src/domain/call-policy';
import { HISTORY_EVENTS } from './constants';
import { failureReason } from './failure-reason';
import { callEndedSignal, type VoiceCallInput, wakeCallSignal } from './messages';
import { quick, voice, voiceLocal } from './proxies';

/** A call waits this long for the signal of its end before it reads the ledger, in case the signal was lost. */
const POLL_MS = 20_000;
const LOOK_MS = 60_000;
const LOOK_MAX_MS = 30 * 60_000;

/**
 * One recipient on the voice channel: call, wait for the end, decide by the call policy, wait, call again. May
 * live for days; between two calls it is a timer. While its run is paused, or the service takes no calls, each
 * look adds to its history. It therefore continues as new before the history is full.
 */
export async function voiceCall(input: VoiceCallInput): Promise<void> {
  const { runId, seq, from, policy } = input;
  const endings = new Map<number, CallEnding>(input.goOn?.endings);
  let wakes = 0;
  let canceled = input.goOn?.canceled ?? false;
  let isPlaced = input.goOn?.placed ?? false;
  setHandler(callEndedSignal, ({ attempt, ...ending }) => {
    // The same end may be reported twice. The first report counts, unless it was `unknown`.
    const told = endings.get(attempt);
    if (!told || told.end === 'unknown') endings.set(attempt, ending);
  });
  setHandler(wakeCallSignal, (control) => {
    wakes++;
    canceled ||= control === 'cancel';
  });

  const calls: CallResult[] = [...(input.goOn?.calls ?? [])];
  for (;;) {
    const attempt = from + calls.length;
    const key = { runId, seq, attempt };
    if (!isPlaced && !(await place())) return;
    isPlaced = true;
    const latest = callResult(await ended(), policy.machine);
    calls.push(latest);
    isPlaced = false;
    const step = nextCallStep(policy, calls, `${runId}.${seq}.${from}`);
    await voiceLocal.recordCall({ ...key, step, latest: latest.outcome });
    if (step.kind === 'end') return;
    // A resumed run dials no sooner than the policy says; a canceled one has nothing to wait for.
    if (step.afterSeconds > 0) await condition(() => canceled, Math.ceil(step.afterSeconds * 1000));

    /** Returns false when the recipient must not be called any more. */
    async function place(): Promise<boolean> {
      for (let look = LOOK_MS; ; ) {
        const before = wakes;
        const placed = await placeCall();
        if (placed.kind === 'placed') return true;
        if (placed.kind === 'over') return false;
        if (placed.kind === 'later') {
          // This may last a night.
          await condition(() => wakes > before, placed.waitMs);
        } else if (placed.control === 'cancel') {
          await voiceLocal.cancelCallRecipient({ runId, seq });
          return false;
        } else {
          await condition(() => wakes > before, look);
          look = Math.min(LOOK_MAX_MS, look * 2);
        }
        await keepShort();
      }
    }

    /**
     * A permanent failure concerns all recipients: the run stops and records why, and the call waits until the
     * run is resumed. If the call ended here instead, its recipient would stay open for ever, because no other
     * part closes them.
     */
    async function placeCall(): Promise<PlaceCallOutcome> {
      try {
        return await voice.placeCall({ ...key, from });
      } catch (error) {
        const reason = failureReason(error);
        if (reason === undefined || isCancellation(error) || reason.startsWith('run_not_found:')) throw error;
        if (!patched('outlives-a-failed-placing')) throw error;
        await quick.stopRun({ runId, reason });
        return { kind: 'stopped', control: 'fail' };
      }
    }

    async function ended(): Promise<CallEnding> {
      for (let poll = POLL_MS; ; ) {
        if (await condition(() => endings.has(attempt), poll)) return endings.get(attempt) as CallEnding;
        const stored = await voiceLocal.readCall(key);
        if (stored) return stored;
        // Poll with growing delays, because the service may hold a call for days and each look adds to the
        // history.
        if (patched('polls-more-seldom')) poll = Math.min(LOOK_MAX_MS, Math.ceil(poll * 1.5));
        await keepShort();
      }
    }
  }

  async function keepShort(): Promise<void> {
    if (workflowInfo().historyLength <= HISTORY_EVENTS || !patched('goes-on-as-new')) return;
    const goOn = { calls, placed: isPlaced, canceled, endings: [...endings] };
    await continueAsNew<typeof voiceCall>({ ...input, goOn });
  }
}
