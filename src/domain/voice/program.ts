import type { HISTORY } from './verbs';
import type { XmlElement, XmlNode } from './xml-tree';

/**
 * What a call does, as a document or a flow says it, ready to be run. Steps run in order, and a call
 * ends after the last one. A program and its document are two forms of one thing: `writeVoiceXml` and
 * `parseVoiceXml` are each other's inverse. It is plain JSON.
 *
 * An attribute that is not there has the value of VERB_DEFAULTS. Numbers and truth values are strings as
 * long as they hold a placeholder, so only in the program of a template, never in that of a message.
 */
export interface VoiceProgram {
  steps: readonly Step[];
  /** Attributes of the root, a namespace for example. */
  extra?: ExtraAttributes;
}

export type ExtraAttributes = readonly (readonly [name: string, value: string])[];
type Whole = number | string;
type Truth = boolean | string;

interface Common {
  /** A place that `Goto` can name. Only steps of the program itself can be reached, none inside another step. */
  id?: string;
  /** How much of this step the call's record keeps. */
  history?: (typeof HISTORY)[number];
  /** What is not understood, as it came. */
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
  /** Text, and elements of SSML between it. */
  content: readonly XmlNode[];
}
export interface PlayStep extends Common {
  verb: 'Play';
  loop?: Whole;
  digits?: string;
  /** Of a recording; absent when only `digits` are played. */
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
  /** The variable that takes the input; always there when there are branches. */
  output?: string;
  /** How often prompts and waiting are repeated when no branch was chosen by a key. */
  retries?: Whole;
  /** Keys by which the person asks not to be called again. */
  optOutDigits?: string;
  prompts: readonly Prompt[];
  /** At most one for each input. Without one for what was pressed, the call goes on after this step. */
  branches: readonly Branch[];
}

/** What was entered: one key, nothing in time, or anything that has no branch of its own. */
export const KEYS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9', '*', '#'] as const;
export type BranchInput = (typeof KEYS)[number] | 'timeout' | 'nomatch';

export interface Branch {
  on: BranchInput;
  /** When they end without leaving, the call goes on after the gather. */
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
/** On with another document. */
export interface RedirectStep extends Common {
  verb: 'Redirect';
  method?: string;
  url: string;
}
/** On with the step of that id: in a document a redirection to `#id` (RFC 3986, 4.4). */
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
/** Kept as it came, and not run. */
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

/** What is heard of a `Say`, without its marks. */
export function spokenText(content: readonly XmlNode[]): string {
  return content
    .map((node) => (typeof node === 'string' ? node : spokenText(node.children)))
    .join('')
    .replace(/\s+/g, ' ')
    .trim();
}

/** Every step, those inside others included, in order. */
export function* allSteps(steps: readonly Step[]): Generator<Step> {
  for (const step of steps) {
    yield step;
    if (step.verb !== 'Gather') continue;
    yield* step.prompts;
    for (const branch of step.branches) yield* allSteps(branch.steps);
  }
}
