import type { Detection } from './answer-detection/detection';
import type { DocumentRequest } from './call-documents';
import type { XmlElement } from './xml-tree';

/**
 * One command to a call. `maxMs` is the time left for the call: the control ends the command by then. With
 * `bargeIn`, a key ends the command and is reported.
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
  /**
   * Until a key is pressed: one of at most `numDigits`, of which `entered` are there. A control that takes all of an
   * input at once ends it with `finishOnKey`, where there is one.
   */
  | { do: 'wait_key'; maxMs: number; numDigits: number; entered: number; finishOnKey: string }
  /** Silence of `silenceMs` ends it; 0 for never. */
  | { do: 'record'; silenceMs: number; finishOnKey: string; beep: boolean; maxMs: number }
  /** Fetches another document to continue with; the callee hears nothing meanwhile. */
  | ({ do: 'fetch_document'; maxMs: number } & DocumentRequest)
  /** Connects the callee to another party, as the element says; only carriers with a verb of that name can. */
  | { do: 'connect'; element: XmlElement; maxMs: number }
  | { do: 'hang_up' }
  /** Takes no time: reports something while the call continues. */
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
  /** For `dial`. */
  dialed?: DialOutcome | undefined;
  /** For `listen`; absent when the time was over. */
  detection?: Pick<Detection, 'answeredBy'> | undefined;
  /** For `record`; absent when there is nothing to keep. */
  recording?: { reference: string; durationMs: number } | undefined;
  /** For `fetch_document`. */
  document?: { url: string; text: string } | undefined;
  /** A code that says why the command could not be done. */
  problem?: string | undefined;
}

export type DialOutcome = 'answered' | 'busy' | 'no_answer' | 'rejected' | 'failed';

export interface CallReport {
  type: 'answered' | 'human' | 'machine' | 'digits' | 'recording';
  data?: Record<string, unknown>;
}

/** A call in progress, real or simulated. */
export interface CallControl {
  carryOut(command: CallCommand): Heard;
}

/** The same for a control that may have to wait. */
export interface WaitingControl {
  carryOut(command: CallCommand): Heard | Promise<Heard>;
}
