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
  await new VoiceCall(input).follow();
}

class VoiceCall {
  private readonly recipient: { runId: string; seq: number };
  private readonly endings: Map<number, CallEnding>;
  private wakes = 0;
  private canceled: boolean;
  private isPlaced: boolean;
  private readonly calls: CallResult[];

  constructor(private readonly input: VoiceCallInput) {
    this.recipient = { runId: input.runId, seq: input.seq };
    this.endings = new Map<number, CallEnding>(input.goOn?.endings);
    this.canceled = input.goOn?.canceled ?? false;
    this.isPlaced = input.goOn?.placed ?? false;
    setHandler(callEndedSignal, ({ attempt, ...ending }) => {
      // The same end may be reported twice. The first report counts, unless it was `unknown`.
      const told = this.endings.get(attempt);
      if (!told || told.end === 'unknown') this.endings.set(attempt, ending);
    });
    setHandler(wakeCallSignal, (control) => {
      this.wakes++;
      this.canceled ||= control === 'cancel';
    });
    this.calls = [...(input.goOn?.calls ?? [])];
  }

  async follow(): Promise<void> {
    for (;;) {
      const attempt = this.input.from + this.calls.length;
      if (!this.isPlaced && !(await this.place(attempt))) return;
      this.isPlaced = true;
      const latest = callResult(await this.ended(attempt), this.input.policy.machine);
      this.calls.push(latest);
      this.isPlaced = false;
      const step = nextCallStep(
        this.input.policy,
        this.calls,
        `${this.input.runId}.${this.input.seq}.${this.input.from}`,
      );
      await voiceLocal.recordCall({
        ...this.recipient,
        attempt,
        step,
        latest: latest.outcome,
      });
      if (step.kind === 'end') return;
      // A resumed run dials no sooner than the policy says; a canceled one has nothing to wait for.
      if (step.afterSeconds > 0) await condition(() => this.canceled, Math.ceil(step.afterSeconds * 1000));
    }
  }

  /** Returns false when the recipient must not be called any more. */
  private async place(attempt: number): Promise<boolean> {
    for (let look = LOOK_MS; ; ) {
      const before = this.wakes;
      const placed = await this.placeCall(attempt);
      if (placed.kind === 'placed') return true;
      if (placed.kind === 'over') return false;
      if (placed.kind === 'later') {
        // This may last a night.
        await condition(() => this.wakes > before, placed.waitMs);
      } else if (placed.control === 'cancel') {
        await voiceLocal.cancelCallRecipient(this.recipient);
        return false;
      } else {
        await condition(() => this.wakes > before, look);
        look = Math.min(LOOK_MAX_MS, look * 2);
      }
      await this.keepShort();
    }
  }

  /**
   * A permanent failure concerns all recipients: the run stops and records why, and the call waits until the
   * run is resumed. If the call ended here instead, its recipient would stay open for ever, because no other
   * part closes them.
   */
  private async placeCall(attempt: number): Promise<PlaceCallOutcome> {
    try {
      return await voice.placeCall({
        ...this.recipient,
        attempt,
        from: this.input.from,
      });
    } catch (error) {
      const reason = failureReason(error);
      if (reason === undefined || isCancellation(error) || reason.startsWith('run_not_found:')) throw error;
      if (!patched('outlives-a-failed-placing')) throw error;
      await quick.stopRun({ runId: this.input.runId, reason });
      return { kind: 'stopped', control: 'fail' };
    }
  }

  private async ended(attempt: number): Promise<CallEnding> {
    for (let poll = POLL_MS; ; ) {
      if (await condition(() => this.endings.has(attempt), poll))
        return this.endings.get(attempt) as CallEnding;
      const stored = await voiceLocal.readCall({ ...this.recipient, attempt });
      if (stored) return stored;
      // Poll with growing delays, because the service may hold a call for days and each look adds to the
      // history.
      if (patched('polls-more-seldom')) poll = Math.min(LOOK_MAX_MS, Math.ceil(poll * 1.5));
      await this.keepShort();
    }
  }

  private async keepShort(): Promise<void> {
    if (workflowInfo().historyLength <= HISTORY_EVENTS || !patched('goes-on-as-new')) return;
    const goOn = {
      calls: this.calls,
      placed: this.isPlaced,
      canceled: this.canceled,
      endings: [...this.endings],
    };
    await continueAsNew<typeof voiceCall>({ ...this.input, goOn });
  }
}
