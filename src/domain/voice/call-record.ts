import { LIMITS } from '../limits';
import type { CallEnd } from '../message';
import type { AnsweredBy } from './answer-detection/detection';
import { type Step, spokenText } from './program';

/** Why a call ended. */
export type CallEndReason =
  | 'busy'
  | 'no_answer'
  | 'declined'
  | 'not_connected'
  /** The document came to its end, or to a verb that ends the call. */
  | 'finished'
  | 'callee_hung_up'
  | 'machine'
  | 'opted_out'
  /** The document refuses the call. */
  | 'rejected_by_flow'
  | 'too_long'
  | 'too_many_commands'
  | 'too_many_documents'
  /** A step failed; `code` says why. */
  | 'problem';

export type CallOutcome = 'human' | 'machine' | 'voicemail_left' | 'opted_out';

/** What is known about a call when it is over. Times are milliseconds since it was begun. */
export interface CallRecord {
  end: Exclude<CallEnd, 'canceled'>;
  reason: CallEndReason;
  code?: string;
  answeredBy?: AnsweredBy;
  /** Only for a call that was answered. */
  outcome?: CallOutcome;
  answeredAtMs?: number;
  endedAtMs: number;
  /** The inputs, and the branch taken for each. */
  entered: readonly Entered[];
  said: readonly Said[];
  recordings: readonly { reference: string; durationMs: number }[];
  /** Other documents that were fetched, in order. All were run, except the last if it was the problem. */
  documents: readonly string[];
}

export interface Entered {
  /** The gather's `output`, or else its `id`. */
  gather?: string;
  digits: string;
  branch?: string;
  optedOut?: true;
  /** If it was entered in another document: the number of that document, from 1. */
  document?: number;
}

export interface Said {
  verb: string;
  id?: string;
  text?: string;
}

/** The part of a record that goes into the last receipt (api.md 4, 12). Its size is limited, because each part is. */
export function callData(record: CallRecord): Record<string, unknown> {
  const { reason, answeredBy, outcome, answeredAtMs, endedAtMs, entered, said, recordings, documents } =
    record;
  if (answeredAtMs === undefined) return { reason };
  const digits = entered.map((one) => one.digits).join('');
  const branch = entered.flatMap(({ gather, branch: taken }) =>
    taken === undefined ? [] : [{ gather, on: taken }],
  );
  return {
    answeredBy,
    outcome,
    reason,
    durationMs: endedAtMs - answeredAtMs,
    answeredAfterMs: answeredAtMs,
    ...(digits === '' ? {} : { digits }),
    ...(branch.length === 0 ? {} : { branch }),
    ...(said.length === 0 ? {} : { said }),
    ...(recordings.length === 0 ? {} : { recording: recordings.at(-1)?.reference }),
    ...(documents.length === 0 ? {} : { documents }),
    ...(outcome === 'opted_out' ? { optedOut: true } : {}),
  };
}

/** Keeps what was said, as much as each step's `history` asks for and a record may hold. */
export function createSaid(): { said: Said[]; note(step: Step): void } {
  const said: Said[] = [];
  let chars = 0;
  return {
    said,
    note(step) {
      if (step.verb === 'Other' || said.length >= LIMITS.callSaid) return;
      const { verb, id, history } = step;
      if (history !== 'compact' && history !== 'full') return;
      const entry: Said = { verb, ...(id === undefined ? {} : { id }) };
      if (history === 'full' && step.verb === 'Say') {
        const text = spokenText(step.content).slice(0, LIMITS.callSaidChars - chars);
        chars += text.length;
        // A surrogate pair that was cut in two could not be stored.
        entry.text = text.toWellFormed();
      }
      said.push(entry);
    },
  };
}
