import { BoundedCache } from '../../domain/bounded-cache';
import { LIMITS } from '../../domain/limits';
import type { ReceiptType } from '../../domain/message';
import type { CallCommand, Heard, WaitingControl } from '../../domain/voice/call-control';
import { type CallDocuments, otherDocuments } from '../../domain/voice/call-documents';
import { type CallRecord, callData } from '../../domain/voice/call-record';
import { followCall, runCall } from '../../domain/voice/call-runner';
import { optOutKeysOf } from '../../domain/voice/opt-out-keys';
import { runnableProgram } from '../../domain/voice/parse-voice-xml';
import { allSteps, KEYS, spokenText, type VoiceProgram } from '../../domain/voice/program';
import type { HandOver } from '../provider';
import { type Answering, type Scene, SimulatedCallee } from './simulator-callee';
import { hash64 } from './simulator-ids';
import { type Fate, isReserved } from './simulator-outcomes';

/** A receipt to come, as the record keeps it: `part` is how much of the call's whole delay has passed by then. */
export interface CallStep {
  type: ReceiptType;
  part: number;
  code?: string;
  data?: Record<string, unknown>;
}

/** Calls that are answered run their document to the end at once; the receipts come later, in their turn. */
export interface SimulatedCalls {
  /**
   * What has to be waited for, before `stepsOf`, which does not wait: how long texts take, where an engine
   * speaks them, and whole calls whose documents go on elsewhere, for which `fateOf` says that a person
   * answers.
   */
  prepare(
    messages: readonly HandOver[],
    fateOf: (message: HandOver) => Fate | undefined,
    signal: AbortSignal,
  ): Promise<FollowedCalls>;
  /** `undefined` for an outcome without an answer. */
  stepsOf(message: HandOver, fate: Fate, followed: FollowedCalls): CallStep[] | undefined;
}

/** Calls that went on with other documents. */
export type FollowedCalls = ReadonlyMap<HandOver, CallStep[]>;

export interface SimulatedCallOptions {
  seed: number;
  /** Without it, how long a text takes is estimated. */
  measure?: SpeechLength | undefined;
  /** Without it, no call goes on with another document. */
  documents?: CallDocuments | undefined;
}

/** How long it takes to say a text. */
export type SpeechLength = (
  text: string,
  voice: string | undefined,
  language: string | undefined,
) => Promise<number>;

const ANSWERING: ReadonlySet<Fate> = new Set<Answering>([
  'human',
  'human_digits',
  'human_opt_out',
  'human_wrong_key',
  'human_hangs_up',
  'machine_start',
  'machine_end_beep',
]);
const isAnswering = (fate: Fate): fate is Answering => ANSWERING.has(fate);

/** A call without a document, which only tests hand over: the callee is asked for a key. */
const NO_DOCUMENT =
  '<Response><Gather numDigits="1" optOutDigits="9"><Say>Press a key.</Say></Gather></Response>';
/** 160 words a minute, as the engine speaks, at six characters each; and a breath. */
const MS_A_CHARACTER = 62;
const BREATH_MS = 300;

export function createSimulatedCalls(deps: SimulatedCallOptions): SimulatedCalls {
  return new LiveCalls(deps);
}

class LiveCalls implements SimulatedCalls {
  private readonly programs = new BoundedCache<VoiceProgram | 'invalid'>(LIMITS.simulatorDocumentsChars);
  private readonly lengths = new BoundedCache<number>(LIMITS.simulatorSpokenTexts);

  constructor(private readonly deps: SimulatedCallOptions) {}

  readonly prepare: SimulatedCalls['prepare'] = async (messages, fateOf, signal) => {
    await this.measureTexts(messages.map(this.programOf));
    const followed = new Map<HandOver, CallStep[]>();
    if (!this.deps.documents) return followed;
    const all = AbortSignal.any([signal, AbortSignal.timeout(LIMITS.simulatorFollowMs)]);
    const waiting = [...messages];
    const followNext = async () => {
      for (let message = waiting.pop(); message; message = waiting.pop()) {
        const steps = await this.follow(message, fateOf(message), all);
        if (steps) followed.set(message, steps);
      }
    };
    await Promise.all(Array.from({ length: LIMITS.simulatorCallsFollowed }, followNext));
    return followed;
  };

  readonly stepsOf: SimulatedCalls['stepsOf'] = (message, fate, followed) => {
    if (!isAnswering(fate)) return undefined;
    const known = followed.get(message);
    if (known) return known;
    const program = this.programOf(message);
    if (program === 'invalid') return [{ type: 'failed', part: 0.2, code: 'invalid_document' }];
    const callee = new SimulatedCallee(this.sceneOf(message, fate, program));
    return stepsFrom(callee, runCall(program, message.voice ?? {}, callee));
  };

  private readonly programOf = (message: HandOver): VoiceProgram | 'invalid' => {
    return this.programIn(message.xml ?? NO_DOCUMENT);
  };

  private programIn(xml: string): VoiceProgram | 'invalid' {
    const known = this.programs.get(xml);
    if (known) return known;
    const made = runnableProgram(xml) ?? 'invalid';
    this.programs.set(xml, made, xml.length);
    return made;
  }

  private async measureTexts(spoken: readonly (VoiceProgram | 'invalid')[]): Promise<void> {
    const { measure } = this.deps;
    if (!measure) return;
    const unknown = new Map<string, () => Promise<number>>();
    for (const program of spoken) {
      if (program === 'invalid') continue;
      for (const step of allSteps(program.steps)) {
        if (step.verb !== 'Say') continue;
        const { voice, language } = step;
        const text = spokenText(step.content);
        const key = keyOf(text, voice, language);
        if (this.lengths.get(key) === undefined) unknown.set(key, () => measure(text, voice, language));
      }
    }
    await Promise.all(
      [...unknown].map(async ([key, find]) => {
        // A text that the engine cannot speak gets an estimated length, because the simulator is no test of
        // the engine.
        const ms = await find().catch(() => undefined);
        if (ms !== undefined) this.lengths.set(key, ms, 1);
      }),
    );
  }

  private readonly speechMs = (
    text: string,
    voice: string | undefined,
    language: string | undefined,
  ): number =>
    Math.round(this.lengths.get(keyOf(text, voice, language)) ?? BREATH_MS + MS_A_CHARACTER * text.length);

  private sceneOf(message: HandOver, fate: Answering, program: VoiceProgram): Scene {
    return {
      fate,
      ringMs: ringMs(message, fate, this.deps.seed),
      draw: hash64(message.id, this.deps.seed).high,
      key: keyPressed(fate, program),
      reference: `sim-recording-${message.id}`,
      speechMs: this.speechMs,
    };
  }

  private async follow(
    message: HandOver,
    fate: Fate | undefined,
    signal: AbortSignal,
  ): Promise<CallStep[] | undefined> {
    const program = this.programOf(message);
    if (!this.deps.documents || !fate || !isAnswering(fate) || program === 'invalid') return undefined;
    if (otherDocuments(program).length === 0) return undefined;
    const scene = this.sceneOf(message, fate, program);
    const callee = new SimulatedCallee(scene);
    const onDocument = async (text: string) => {
      const next = this.programIn(text);
      await this.measureTexts([next]);
      if (next !== 'invalid') scene.key = keyPressed(fate, next);
    };
    const control = withDocuments(callee, {
      callId: message.id,
      documents: this.deps.documents,
      signal,
      onDocument,
    });
    return stepsFrom(callee, await followCall(program, message.voice ?? {}, control));
  }
}

function stepsFrom({ reports }: SimulatedCallee, record: CallRecord): CallStep[] {
  // Rounded, so that a line stays short.
  const part = (atMs: number) => Math.round((1_000 * atMs) / Math.max(1, record.endedAtMs)) / 1_000;
  const steps = reports.map(({ atMs, type, ...rest }): CallStep => ({ type, part: part(atMs), ...rest }));
  return [...steps, { type: record.end, part: 1, ...codeOf(record), data: callData(record) }];
}

function codeOf({ reason, code }: { reason: string; code?: string }): { code?: string } {
  if (code !== undefined) return { code };
  return reason === 'no_answer' ? { code: 'ring_timeout' } : {};
}

/** Reserved numbers answer before any ringing may end; others take their time, and machines wait for people. */
function ringMs(message: HandOver, fate: Answering, seed: number): number {
  if (isReserved(message.channel, message.to)) return 2_000;
  const draw = hash64(message.id, seed + 1).low;
  return fate.startsWith('machine') ? 15_000 + (draw % 13_000) : 2_000 + (draw % 18_000);
}

function keyPressed(fate: Answering, program: VoiceProgram): string | undefined {
  switch (fate) {
    case 'human_digits':
      return '1';
    case 'human_opt_out':
      return optOutKeysOf(program).all[0] ?? '9';
    case 'human_wrong_key': {
      const known = new Set<string>(optOutKeysOf(program).all);
      for (const step of allSteps(program.steps)) {
        if (step.verb === 'Gather') for (const { on } of step.branches) known.add(on);
      }
      return KEYS.find((key) => key !== '#' && !known.has(key)) ?? '*';
    }
    default:
      return undefined;
  }
}

const keyOf = (text: string, voice = '', language = '') => `${voice} ${language} ${text}`;

/** For the callee: fetched documents come from anywhere, and a call made again must be the same call. */
const DOCUMENT_MS = 200;

interface Following {
  callId: string;
  documents: CallDocuments;
  /** Ends all waiting. */
  signal: AbortSignal;
  /** Looks at a document before the call goes on with it. */
  onDocument(text: string): Promise<void>;
}

/**
 * A simulated call that may go on with other documents. They are really fetched, while the callee's time is
 * counted as ever: the same for every document, and all that was allowed for one that does not come.
 */
function withDocuments(
  callee: SimulatedCallee,
  { callId, documents, signal, onDocument }: Following,
): WaitingControl {
  async function fetchDocument({
    maxMs,
    ...command
  }: Extract<CallCommand, { do: 'fetch_document' }>): Promise<Heard> {
    const { url, method } = command;
    const fields = { CallSid: callId, ...command.fields };
    const answer = await documents.fetch({ url, method, fields }, signal);
    if ('text' in answer) {
      await onDocument(answer.text);
      return { ...callee.wait(Math.min(DOCUMENT_MS, maxMs)), document: answer };
    }
    // Like anything else that did not happen in its time.
    if (answer.problem === 'document_timeout') return callee.wait(maxMs);
    return { ...callee.wait(Math.min(DOCUMENT_MS, maxMs)), problem: answer.problem };
  }

  return {
    carryOut: (command) =>
      command.do === 'fetch_document' ? fetchDocument(command) : callee.carryOut(command),
  };
}
