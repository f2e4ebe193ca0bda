import type { Detection } from './answer-detection/detection';
import type { DocumentRequest } from './call-documents';

/**
 * What a call is told to do, one thing after the other. `maxMs` is what is left of the call: whoever
 * carries a command out ends it by then. With `bargeIn` a key ends it, and is not lost.
 */
export type CallCommand =
  | { do: 'dial'; maxMs: number }
  /** Until it is known, or known better, who answered. */
  | { do: 'listen'; maxMs: number }
  | {
      do: 'speak';
      text: string;
      voice: string | undefined;
      language: string | undefined;
      bargeIn: boolean;
      maxMs: number;
    }
  | { do: 'play'; url: string; bargeIn: boolean; maxMs: number }
  | { do: 'send'; tones: string; maxMs: number }
  | { do: 'pause'; bargeIn: boolean; maxMs: number }
  /** Until a key is pressed. */
  | { do: 'wait_key'; maxMs: number }
  /** `silenceMs` of nobody speaking ends it; 0 for never. */
  | { do: 'record'; silenceMs: number; finishOnKey: string; beep: boolean; maxMs: number }
  /** Another document to go on with; nothing is heard meanwhile. */
  | ({ do: 'fetch_document'; maxMs: number } & DocumentRequest)
  | { do: 'hang_up' }
  /** Takes no time: what is worth telling while the call goes on. */
  | { do: 'report'; report: CallReport };

/** A command that takes time. */
export type TimedCommand = Extract<CallCommand, { maxMs: number }>;

/** How a command ended. */
export interface Heard {
  /** Since the call was begun. */
  atMs: number;
  /** The callee has hung up. */
  hungUp?: boolean | undefined;
  key?: string | undefined;
  /** Of `dial`. */
  dialed?: DialOutcome | undefined;
  /** Of `listen`; absent when the time was over. */
  detection?: Pick<Detection, 'answeredBy'> | undefined;
  /** Of `record`; absent when there is nothing to keep. */
  recording?: { reference: string; durationMs: number } | undefined;
  /** Of `fetch_document`. */
  document?: { url: string; text: string } | undefined;
  /** It could not be done, for this reason: a code. */
  problem?: string | undefined;
}

export type DialOutcome = 'answered' | 'busy' | 'no_answer' | 'rejected' | 'failed';

export interface CallReport {
  type: 'answered' | 'human' | 'machine' | 'digits' | 'recording';
  data?: Record<string, unknown>;
}

/** A call in progress, real or not. */
export interface CallControl {
  carryOut(command: CallCommand): Heard;
}

/** The same where something has to be waited for. */
export interface WaitingControl {
  carryOut(command: CallCommand): Heard | Promise<Heard>;
}
