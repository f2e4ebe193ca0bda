import type { AnsweredBy } from '../../domain/voice/answer-detection/detection';
import type {
  CallCommand,
  CallControl,
  CallReport,
  Heard,
  TimedCommand,
} from '../../domain/voice/call-control';
import type { Fate } from './simulator-outcomes';

/** Whom the simulator finds when a call is answered. */
export type Answering = Extract<
  Fate,
  | 'human'
  | 'human_digits'
  | 'human_opt_out'
  | 'human_wrong_key'
  | 'human_hangs_up'
  | 'machine_start'
  | 'machine_end_beep'
>;

export interface Scene {
  fate: Answering;
  /** Until the callee answers, if it may ring so long. */
  ringMs: number;
  /** Decides everything else: how long a greeting takes, how slow the callee is. */
  draw: number;
  /** What the person of this fate presses; another document may ask for another key. */
  key: string | undefined;
  reference: string;
  /** How long it takes to say a text. */
  speechMs(text: string, voice: string | undefined, language: string | undefined): number;
}

export type SceneReport = { atMs: number } & (CallReport | { type: 'ringing' });

const RING_AFTER_MS = 600;
/** No callee listens longer, and no mailbox records longer. */
const PATIENCE_MS = 300_000;
const MAILBOX_MS = 180_000;
/** A callee who is asked for a key more often than this does not answer any more. */
const PRESSES_MAX = 3;
const RECORDING_MS = 10_000;
const TONE_MS = 250;

/**
 * A callee who follows a script, and the line to them. Time is only counted, so that a call of minutes is
 * over at once, and the same random draw makes the same call.
 */
export class SimulatedCallee implements CallControl {
  /** What a carrier would have reported, in order. */
  readonly reports: SceneReport[] = [];
  private nowMs = 0;
  private leavesAtMs = Number.POSITIVE_INFINITY;
  private presses = 0;
  private heardSpeech = false;
  private readonly isPerson: boolean;

  constructor(private readonly scene: Scene) {
    this.isPerson = scene.fate.startsWith('human');
  }

  carryOut(command: CallCommand): Heard {
    switch (command.do) {
      case 'report':
        this.reports.push({ atMs: this.nowMs, ...command.report });
        return { atMs: this.nowMs };
      case 'hang_up':
        return { atMs: this.nowMs };
      case 'dial':
        return this.dial(command.maxMs);
      case 'listen':
        return { ...this.pass(Math.min(this.greetingMs(), command.maxMs)), ...this.greeting(command.maxMs) };
      case 'wait_key':
        return this.waitForKey(command.maxMs);
      case 'record':
        return this.record(command);
      case 'connect':
        return { atMs: this.nowMs };
      case 'pause':
        return this.sound(command.maxMs, command.bargeIn);
      // Documents that a call continues with are fetched before, where they may be (simulator-calls.ts).
      case 'fetch_document':
        return { ...this.pass(0), problem: 'document_unreachable' };
      default:
        return this.sound(
          Math.min(this.lengthOf(command), command.maxMs),
          'bargeIn' in command && command.bargeIn,
        );
    }
  }

  /** Nothing is said or asked. */
  wait(ms: number): Heard {
    return this.pass(ms);
  }

  private dial(maxMs: number): Heard {
    this.nowMs = RING_AFTER_MS;
    this.reports.push({ atMs: this.nowMs, type: 'ringing' });
    const { ringMs } = this.scene;
    this.nowMs += Math.min(ringMs, maxMs);
    if (ringMs > maxMs) return { atMs: this.nowMs, dialed: 'no_answer' };
    this.leavesAtMs = this.nowMs + (this.isPerson ? PATIENCE_MS : MAILBOX_MS);
    return { atMs: this.nowMs, dialed: 'answered' };
  }

  private greetingMs(): number {
    // Until the detector is sure of it, as in docs/voice.md.
    return this.isPerson ? 1_400 + (this.scene.draw % 1_200) : 2_400 + (this.scene.draw % 2_000);
  }

  private greeting(maxMs: number): Pick<Heard, 'detection'> {
    const { fate } = this.scene;
    if (this.greetingMs() > maxMs) return {};
    const answeredBy: AnsweredBy = this.isPerson ? 'human' : (fate as AnsweredBy);
    // The end of a machine's greeting is not detected while it goes on talking.
    if (this.heardSpeech) return {};
    this.heardSpeech = true;
    return { detection: { answeredBy } };
  }

  private lengthOf(command: Extract<TimedCommand, { do: 'speak' | 'play' | 'send' }>): number {
    if (command.do === 'speak') return this.scene.speechMs(command.text, command.voice, command.language);
    return command.do === 'play' ? RECORDING_MS : command.tones.length * TONE_MS;
  }

  /** A callee in a hurry presses a key or hangs up in the middle of a sentence. */
  private sound(ms: number, bargeIn: boolean): Heard {
    const { fate, key } = this.scene;
    if (fate === 'human_hangs_up') {
      this.leavesAtMs = Math.min(this.leavesAtMs, this.nowMs + Math.ceil(ms / 2));
      return this.pass(ms);
    }
    if (!bargeIn || fate !== 'human_opt_out' || key === undefined || this.presses > 0) return this.pass(ms);
    this.presses += 1;
    return { ...this.pass(Math.ceil(ms / 2)), key };
  }

  private waitForKey(maxMs: number): Heard {
    const { key, draw } = this.scene;
    const thinksMs = 400 + (draw % 1_600);
    if (key === undefined || this.presses >= PRESSES_MAX || thinksMs > maxMs) return this.pass(maxMs);
    this.presses += 1;
    const heard = this.pass(thinksMs);
    return heard.hungUp ? heard : { ...heard, key };
  }

  private record({ maxMs, silenceMs }: Extract<CallCommand, { do: 'record' }>): Heard {
    const talksMs = this.isPerson ? 2_000 + (this.scene.draw % 10_000) : 0;
    const untilMs = silenceMs === 0 ? maxMs : Math.min(maxMs, talksMs + silenceMs);
    const before = this.nowMs;
    const heard = this.pass(untilMs);
    const recording = { reference: this.scene.reference, durationMs: heard.atMs - before };
    return { ...heard, recording };
  }

  private pass(ms: number): Heard {
    this.nowMs += ms;
    if (this.nowMs < this.leavesAtMs) return { atMs: this.nowMs };
    this.nowMs = this.leavesAtMs;
    return { atMs: this.nowMs, hungUp: true };
  }
}
