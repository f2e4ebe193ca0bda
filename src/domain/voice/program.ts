import type { HISTORY } from './verbs';
import type { XmlElement, XmlNode } from './xml-tree';

/**
 * What a call does, compiled from a document or a flow. Steps run in order, and the call ends after the last
 * one. A program and its document are two forms of the same thing: `writeVoiceXml` and `parseVoiceXml` are each
 * other's inverse. It is plain JSON.
 *
 * A missing attribute has the value of VERB_DEFAULTS. Numbers and booleans are strings while they contain a
 * placeholder: only in the program of a template, never in that of a message.
 */
export interface VoiceProgram {
  steps: readonly Step[];
  /** Other attributes of the root, for example a namespace. */
  extra?: ExtraAttributes;
}

export type ExtraAttributes = readonly (readonly [name: string, value: string])[];
type Whole = number | string;
type Truth = boolean | string;

interface Common {
  /**
   * The label that a `Goto` can name. Only steps of the program itself can be targets, not steps inside another
   * step.
   */
  id?: string;
  /** How much of this step the call's record keeps. */
  history?: (typeof HISTORY)[number];
  /** Unknown attributes, unchanged. */
  extra?: ExtraAttributes;
}

export interface AnswerStep extends Common {
  verb: 'Answer';
}
export interface SayStep extends Common {
  verb: 'Say';
  voice?: string;
  language?: string;
  loop?: Whole;
  /** Text, with SSML elements between. */
  content: readonly XmlNode[];
}
export interface PlayStep extends Common {
  verb: 'Play';
  loop?: Whole;
  digits?: string;
  /** Address of a recording; absent when only `digits` are played. */
  url?: string;
}
export interface PauseStep extends Common {
  verb: 'Pause';
  /** Seconds. */
  length?: Whole;
}
export type Prompt = SayStep | PlayStep | PauseStep;

export interface GatherStep extends Common {
  verb: 'Gather';
  action?: string;
  method?: string;
  input?: string;
  numDigits?: Whole;
  finishOnKey?: string;
  /** Seconds until the next key. */
  timeout?: Whole;
  /** Seconds, or `auto`. */
  speechTimeout?: Whole;
  actionOnEmptyResult?: Truth;
  language?: string;
  profanityFilter?: Truth;
  /** The variable that takes the input; always present when there are branches. */
  output?: string;
  /** How often prompts and waiting are repeated when no key has chosen a branch. */
  retries?: Whole;
  /** Keys by which the callee opts out of further calls. */
  optOutDigits?: string;
  prompts: readonly Prompt[];
  /** At most one branch for each input. Without one for the input, the call continues after this step. */
  branches: readonly Branch[];
}

/** The input: one key, nothing in time, or any input without a branch of its own. */
export const KEYS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '#'] as const;
export type BranchInput = (typeof KEYS)[number] | 'timeout' | 'nomatch';

export interface Branch {
  on: BranchInput;
  /** When these steps end without leaving, the call continues after the gather. */
  steps: readonly Step[];
}

export interface RecordStep extends Common {
  verb: 'Record';
  action?: string;
  method?: string;
  /** Seconds of silence that end it; 0 for never. */
  timeout?: Whole;
  finishOnKey?: string;
  /** Seconds. */
  maxLength?: Whole;
  playBeep?: Truth;
  recordingStatusCallback?: string;
  recordingStatusCallbackMethod?: string;
  recordingStatusCallbackEvent?: string;
}
/** Continues with another document. */
export interface RedirectStep extends Common {
  verb: 'Redirect';
  method?: string;
  url: string;
}
/** Continues with the step of that id; in a document, a redirection to `#id` (RFC 3986, 4.4). */
export interface GotoStep extends Common {
  verb: 'Goto';
  to: string;
}
export interface RejectStep extends Common {
  verb: 'Reject';
  reason?: string;
}
export interface HangupStep extends Common {
  verb: 'Hangup';
}
/** Kept unchanged, and not run. */
export interface OtherStep {
  verb: 'Other';
  element: XmlElement;
}

export type Step =
  | AnswerStep
  | SayStep
  | PlayStep
  | PauseStep
  | GatherStep
  | RecordStep
  | RedirectStep
  | GotoStep
  | RejectStep
  | HangupStep
  | OtherStep;

/** The spoken text of a `Say`, without its SSML. */
export function spokenText(content: readonly XmlNode[]): string {
  return content
    .map((node) => (typeof node === 'string' ? node : spokenText(node.children)))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Every step in order, including steps inside others. */
export function* allSteps(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    if (step.verb !== 'Gather') continue;
    yield* step.prompts;
    for (const branch of step.branches) yield* allSteps(branch.steps);
  }
}
