import type { AnsweredBy } from './answer-detection/detection';
import { actionAfter } from './answer-detection/machine-behaviour';
import type { CallCommand, CallReport, Heard } from './call-control';
import type { DocumentRequest } from './call-documents';
import { CALL_DEFAULTS, type CallOptions } from './call-options';
import type { CallRecord } from './call-record';
import { callSteps } from './call-runner';
import type { VoiceProgram } from './program';
import type { XmlElement } from './xml-tree';

/**
 * A call that a carrier makes by documents of ours, one for each step. Nothing waits here: what is known of the call is a
 * list of facts, and the call is run anew over all of them whenever one is added. So it goes on in any process, also after
 * a crash, and the same request twice is the same document.
 */

/** What is known of a call, in order. `atMs` since it was begun. */
export type CallFact = { atMs: number } & (
  | { kind: 'answered' }
  /** Who answered; learned at any time. */
  | { kind: 'detected'; answeredBy: AnsweredBy }
  /** All that was to be said was said. */
  | { kind: 'passed' }
  /** Empty when nothing came in time. */
  | { kind: 'digits'; digits: string }
  | { kind: 'recorded'; recording?: { reference: string; durationMs: number } | undefined }
  | { kind: 'document'; document?: { url: string; text: string } | undefined; problem?: string | undefined }
);

export type Instruction =
  | Extract<CallCommand, { do: 'speak' | 'play' | 'send' | 'pause' }>
  | {
      do: 'gather';
      prompts: readonly Instruction[];
      numDigits: number;
      finishOnKey: string;
      timeoutMs: number;
    }
  | Extract<CallCommand, { do: 'record' }>
  | { do: 'connect'; element: XmlElement }
  /** To the next step. */
  | { do: 'go_on' }
  | { do: 'hang_up' };

export interface CallStanding {
  /** The document of now. */
  instructions: readonly Instruction[];
  /** The fact that it ends with; `undefined` at the end of the call. */
  wants: CallFact['kind'] | undefined;
  /** Fetched by us before the document is there. */
  fetch: DocumentRequest | undefined;
  reports: readonly CallReport[];
  /** Set when the call is over. */
  record: CallRecord | undefined;
  /** How often the call began again, because of who answered; how many facts it went on with since. */
  turn: number;
  step: number;
  /** Why it began again. */
  restarted: 'hang_up' | 'leave' | undefined;
}

/** With `endedAtMs` the callee or the carrier has ended the call, wherever it stood. */
export function standingOf(
  program: VoiceProgram,
  options: CallOptions,
  facts: readonly CallFact[],
  endedAtMs?: number,
): CallStanding {
  const { detected, restarted, inputs } = evaluate(options, facts);
  const run = new ScriptedCall(inputs, detected, endedAtMs);
  const call = callSteps(program, options);
  let next = call.next({ atMs: 0 });
  while (!next.done) {
    const heard = run.carryOut(next.value);
    if (heard === undefined)
      return { ...run.standing(), record: undefined, turn: restarted ? 1 : 0, restarted };
    next = call.next(heard);
  }
  return { ...run.standing(), record: next.value, turn: restarted ? 1 : 0, restarted };
}

/**
 * The greeting begins when the call is answered, and who answered becomes known meanwhile. A machine that is to be hung up on, or
 * to be left a message, ends what was begun.
 */
function evaluate(
  options: CallOptions,
  facts: readonly CallFact[],
): Pick<CallStanding, 'restarted'> & { detected: AnsweredBy | undefined; inputs: readonly CallFact[] } {
  const behaviour = options.machine ?? CALL_DEFAULTS.machine;
  const inputs = facts.filter(({ kind }) => kind !== 'detected');
  for (const [i, fact] of facts.entries()) {
    if (fact.kind !== 'detected') continue;
    const { answeredBy } = fact;
    const action = actionAfter(behaviour, [{ answeredBy } as never], { nowMs: 0, waitMaxMs: 1 });
    // The greeting goes on: its end is reported later, or never.
    if (action === 'wait') continue;
    if (action === 'speak') return { detected: answeredBy, restarted: undefined, inputs };
    const begun = facts.slice(0, i).some(({ kind }) => kind !== 'answered');
    const later = facts.slice(i).filter(({ kind }) => kind !== 'detected');
    const answered = facts.filter(({ kind }) => kind === 'answered').slice(0, 1);
    const isAnsweredLater = later.some(({ kind }) => kind === 'answered');
    const isFirst = !begun && isAnsweredLater;
    return {
      detected: answeredBy,
      restarted: isFirst ? undefined : action,
      inputs: isAnsweredLater ? later : [...answered, ...later],
    };
  }
  return { detected: undefined, restarted: undefined, inputs };
}

type InputCommand = Exclude<CallCommand, { do: 'report' | 'hang_up' | 'listen' }>;

class ScriptedCall {
  private nowMs = 0;
  private taken = 0;
  private instructions: Instruction[] = [];
  private prompts: Instruction[] = [];
  private keys: string[] = [];
  private wants: CallFact['kind'] | undefined;
  private fetch: DocumentRequest | undefined;
  private readonly reports: CallReport[] = [];

  constructor(
    private readonly inputs: readonly CallFact[],
    private readonly detected: AnsweredBy | undefined,
    private readonly endedAtMs: number | undefined,
  ) {}

  standing(): Omit<CallStanding, 'record' | 'turn' | 'restarted'> {
    const { instructions, wants, fetch, reports, taken } = this;
    return { instructions, wants, fetch, reports, step: taken };
  }

  /** Returns what the line reported; `undefined` while that is not known. */
  carryOut(command: CallCommand): Heard | undefined {
    switch (command.do) {
      case 'report':
        this.reports.push(command.report);
        return { atMs: this.nowMs };
      case 'listen': {
        const { detected } = this;
        return { atMs: this.nowMs, detection: detected && { answeredBy: detected } };
      }
      case 'hang_up':
        if (!this.flush()) return undefined;
        this.instructions = [{ do: 'hang_up' }];
        return { atMs: this.nowMs };
      default:
        // Instructions after the last fact were not carried out, because the call had ended.
        if (this.endedAtMs !== undefined && this.taken === this.inputs.length && !this.isWithin(command)) {
          return { atMs: this.endedAtMs, hungUp: true };
        }
        return this.input(command);
    }
  }

  /** The rest of an input that came as a whole. */
  private isWithin(command: InputCommand): boolean {
    return command.do === 'wait_key' && command.entered > 0;
  }

  private input(command: InputCommand): Heard | undefined {
    switch (command.do) {
      case 'dial': {
        const fact = this.take('answered');
        return fact && { atMs: this.nowMs, dialed: 'answered' };
      }
      case 'speak':
      case 'play':
      case 'pause':
      case 'send': {
        const isPrompt = 'bargeIn' in command && command.bargeIn;
        (isPrompt ? this.prompts : this.instructions).push(command);
        return { atMs: this.nowMs };
      }
      case 'wait_key':
        return this.waitForKey(command);
      case 'record': {
        const fact = this.ask(command, 'recorded');
        return fact && { atMs: this.nowMs, recording: fact.recording };
      }
      case 'connect':
        return this.ask({ do: 'connect', element: command.element }, 'passed') && { atMs: this.nowMs };
      case 'fetch_document': {
        if (!this.flush()) return undefined;
        const fact = this.take('document');
        if (!fact) {
          const { url, method, fields } = command;
          this.fetch = { url, method, fields };
          return undefined;
        }
        return { atMs: this.nowMs, document: fact.document, problem: fact.problem };
      }
    }
  }

  private waitForKey(command: Extract<CallCommand, { do: 'wait_key' }>): Heard | undefined {
    if (command.entered === 0) {
      const { numDigits, finishOnKey, maxMs: timeoutMs } = command;
      const prompts = this.prompts.splice(0);
      const fact = this.ask({ do: 'gather', prompts, numDigits, finishOnKey, timeoutMs }, 'digits');
      if (!fact) return undefined;
      this.keys = [...fact.digits];
    }
    return { atMs: this.nowMs, key: this.keys.shift() };
  }

  /** Gives an instruction that ends the document, unless its answer is there. */
  private ask<Kind extends CallFact['kind']>(
    instruction: Instruction,
    kind: Kind,
  ): Extract<CallFact, { kind: Kind }> | undefined {
    this.instructions.push(instruction);
    return this.take(kind);
  }

  /** Nothing is left that has to be said before the call goes on. */
  private flush(): boolean {
    if (this.instructions.length === 0) return true;
    if (this.endedAtMs !== undefined && this.taken === this.inputs.length) return true;
    if (this.take('passed')) return true;
    this.instructions.push({ do: 'go_on' });
    return false;
  }

  private take<Kind extends CallFact['kind']>(kind: Kind): Extract<CallFact, { kind: Kind }> | undefined {
    const fact = this.inputs[this.taken];
    if (fact?.kind !== kind) {
      this.wants = kind;
      return undefined;
    }
    this.taken += 1;
    this.nowMs = Math.max(this.nowMs, fact.atMs);
    this.instructions = [];
    return fact as Extract<CallFact, { kind: Kind }>;
  }
}
