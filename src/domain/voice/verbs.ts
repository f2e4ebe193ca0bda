/**
 * The voice XML dialect: the verbs, attributes and values of Voxtelesys' VoXML reference, with three attributes
 * of ours (`id`, `retries`, `optOutDigits`). One table serves the check of documents, their creation, and the
 * settings of flow nodes.
 */
export type AttributeType =
  | { kind: 'integer'; min: number; max: number; or?: string }
  | { kind: 'one of'; values: readonly string[] }
  | { kind: 'boolean' }
  /** Telephone keys, each at most once. */
  | { kind: 'keys'; max: number }
  /** Tones to play; `w` and `W` are short and long pauses. */
  | { kind: 'tones' }
  | { kind: 'url' }
  /** BCP 47 tags in their common forms. */
  | { kind: 'language' }
  | { kind: 'name' }
  | { kind: 'text'; chars: number };

/** What a verb may contain: nothing, an address, text with SSML, or prompts. */
export type VerbContent = 'none' | 'url' | 'speech' | 'prompts';

interface VerbDescription {
  content: VerbContent;
  /** In the order in which they are written. */
  attributes: Readonly<Record<string, AttributeType>>;
}

const integer = (min: number, max: number): AttributeType => ({ kind: 'integer', min, max });
const METHOD: AttributeType = { kind: 'one of', values: ['GET', 'POST'] };
const BOOLEAN: AttributeType = { kind: 'boolean' };
const URL: AttributeType = { kind: 'url' };
const LANGUAGE: AttributeType = { kind: 'language' };
const NAME: AttributeType = { kind: 'name' };
/** In the dialect, 0 repeats for ever; here it is refused, because a call must end. */
const LOOP = integer(1, 100);

export const VERBS = {
  Answer: { content: 'none', attributes: {} },
  Say: {
    content: 'speech',
    attributes: { voice: { kind: 'text', chars: 100 }, language: LANGUAGE, loop: LOOP },
  },
  Play: { content: 'url', attributes: { loop: LOOP, digits: { kind: 'tones' } } },
  Pause: { content: 'none', attributes: { length: integer(1, 60) } },
  Gather: {
    content: 'prompts',
    attributes: {
      action: URL,
      method: METHOD,
      input: { kind: 'one of', values: ['dtmf', 'speech', 'dtmf speech', 'both'] },
      numDigits: integer(1, 64),
      finishOnKey: { kind: 'keys', max: 1 },
      timeout: integer(1, 120),
      speechTimeout: { kind: 'integer', min: 1, max: 120, or: 'auto' },
      actionOnEmptyResult: BOOLEAN,
      language: LANGUAGE,
      profanityFilter: BOOLEAN,
      output: NAME,
      retries: integer(0, 10),
      optOutDigits: { kind: 'keys', max: 12 },
    },
  },
  Record: {
    content: 'none',
    attributes: {
      action: URL,
      method: METHOD,
      timeout: integer(0, 120),
      finishOnKey: { kind: 'keys', max: 12 },
      maxLength: integer(1, 14_400),
      playBeep: BOOLEAN,
      recordingStatusCallback: URL,
      recordingStatusCallbackMethod: METHOD,
      recordingStatusCallbackEvent: { kind: 'text', chars: 100 },
    },
  },
  Redirect: { content: 'url', attributes: { method: METHOD } },
  Reject: { content: 'none', attributes: { reason: { kind: 'one of', values: ['rejected', 'busy'] } } },
  Hangup: { content: 'none', attributes: {} },
} as const satisfies Record<string, VerbDescription>;

export type VerbName = keyof typeof VERBS;

export const HISTORY = ['disable', 'compact', 'full'] as const;

/** The meaning of a missing attribute. */
export const VERB_DEFAULTS = {
  history: 'disable',
  Say: { loop: 1 },
  Play: { loop: 1 },
  Pause: { length: 1 },
  Gather: { input: 'dtmf', finishOnKey: '#', timeout: 5, retries: 0, method: 'POST' },
  Record: { timeout: 5, finishOnKey: '1234567890*#', maxLength: 3_600, playBeep: true, method: 'POST' },
  Redirect: { method: 'POST' },
  Reject: { reason: 'rejected' },
} as const;

const ALIASES: Readonly<Record<string, VerbName>> = { Speak: 'Say', GetDigits: 'Gather' };

export function verbNamed(name: string): VerbName | undefined {
  if (Object.hasOwn(VERBS, name)) return name as VerbName;
  return Object.hasOwn(ALIASES, name) ? ALIASES[name] : undefined;
}

/** Verbs of the dialect that are kept and not run; the value says what they may contain. */
export const UNSUPPORTED_VERBS: ReadonlyMap<string, 'verbs' | 'anything'> = new Map([
  ['If', 'verbs'],
  ['Do', 'verbs'],
  ['Set', 'anything'],
  ['Unset', 'anything'],
  ['Dial', 'anything'],
  ['Connect', 'anything'],
  ['Pay', 'anything'],
]);

/** Elements of SSML 1.1 that may stand in speech. */
export const SPEECH_MARKS: ReadonlySet<string> = new Set(
  'break emphasis lang mark p phoneme prosody s say-as speak sub token voice w'.split(' '),
);

export const PROMPTS: ReadonlySet<string> = new Set<VerbName>(['Say', 'Play', 'Pause']);

/** After one of these verbs, later steps at the same place are never reached. */
export const TERMINALS: ReadonlySet<string> = new Set(['Goto', 'Redirect', 'Reject', 'Hangup']);
