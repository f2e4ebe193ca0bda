import { type AnsweredBy, confidenceOf, type Detection, type DetectionReason, timingsOf } from './detection';
import { createFrameSpectrum, FRAME_MS, FRAME_SAMPLES } from './frame-spectrum';
import { createNoiseFloor } from './noise-floor';
import { createToneRun } from './tone-run';
import { createHeardSpeech, hear } from './word-count';

/**
 * Finds out who has answered a call. Listens to the callee's audio, 8 kHz and 16 bit, and goes through
 *
 *   listening ──▶ human, fax, unknown, machine_end_beep          the end
 *       └───────▶ machine_start ──▶ machine_end_beep, machine_end_silence, unknown
 *
 * People say a little and wait; machines talk on, then beep and wait. Therefore the length of the speech before
 * the first real pause decides, and tones do. Defaults are those of carriers, because customers tune campaigns
 * for them; where carriers differ, those of our dialect (Voxtelesys).
 *
 * It runs for every live call at once. Therefore its memory is fixed, it allocates nothing between two
 * detections, and a second of audio takes less than a millisecond: docs/voice.md has the figure.
 */
export interface AnswerOptions {
  /** Without a word or tone for this long, the line counts as silent; Twilio's and Voxtelesys' 5 s. */
  initialSilenceMs: number;
  /** Longer greetings are a machine's. Twilio uses 2.4 s; Voxtelesys 2 s for homes and 3.2 s for offices. */
  greetingMaxMs: number;
  /** More words than this are a machine's, even if its pauses add up slowly. A person says four in a second. */
  wordsMax: number;
  /** A pause that ends a person's greeting: Voxtelesys' 1 s, so that the message still begins within 2 s of it. */
  speechEndMs: number;
  /** A pause that ends a machine's greeting without a beep. Beeps come up to 2 s after the last word. */
  machineSilenceMs: number;
  /** Beeps are 0.1 to 1 s long. One of 100 ms fills four frames, wherever it begins within a frame. */
  beepMinMs: number;
  /** Old machines beep for longer; a longer tone belongs to the line and is no beep. */
  beepMaxMs: number;
  /** The first result comes within this time, the longest that carriers wait. */
  decideWithinMs: number;
  /** The end of a machine's greeting comes within this time of its beginning: Vonage's shortest wait for a beep. */
  greetingEndWithinMs: number;
}

const ANSWER_DEFAULTS: Readonly<AnswerOptions> = {
  initialSilenceMs: 5_000,
  greetingMaxMs: 2_400,
  wordsMax: 9,
  speechEndMs: 1_000,
  machineSilenceMs: 2_500,
  beepMinMs: 80,
  beepMaxMs: 2_000,
  decideWithinMs: 30_000,
  greetingEndWithinMs: 45_000,
};

/** Upper end of beeps; the fax's answer tone lies above it. */
const BEEP_HZ_MAX = 2_000;
/** ITU-T T.30: a calling fax sends 1,100 Hz ± 38 for 0.5 s ± 15 %, an answering one 2,100 Hz ± 15 for 2.6 to 4 s. */
const CALLING_FAX = { hz: 1_100, withinHz: 38, minMs: 380, maxMs: 600 };
/**
 * A fifth of that duration is enough, because nothing else has this tone; the tolerance allows for measuring
 * errors.
 */
const ANSWERING_FAX = { hz: 2_100, withinHz: 20, minMs: 600 };
/** A beep is followed by silence; a melody or a vowel continues. */
const QUIET_AFTER_BEEP_MS = 100;

export interface AnswerDetector {
  /**
   * Takes the next samples, in frames of any length. Returns a detection when the result changes: at most twice
   * in a call. If it changes twice within one frame, the later one is returned.
   */
  push(frame: Int16Array): Detection | undefined;
  /** The call is over: returns a detection if there was none yet. */
  end(): Detection | undefined;
}

export function createAnswerDetector(options: Partial<AnswerOptions> = {}): AnswerDetector {
  return new SampleAnswerDetector(options);
}

class SampleAnswerDetector implements AnswerDetector {
  private readonly bounds: {
    initialSilenceMs: number;
    greetingMaxMs: number;
    wordsMax: number;
    speechEndMs: number;
    machineSilenceMs: number;
    beepMinMs: number;
    beepMaxMs: number;
    decideWithinMs: number;
    greetingEndWithinMs: number;
  };
  private readonly spectrum = createFrameSpectrum();
  private readonly floor = createNoiseFloor();
  private readonly tone = createToneRun();
  private readonly speech = createHeardSpeech();
  /** The speech before the present tone, because a tone that becomes a beep was no word. */
  private readonly beforeTone = createHeardSpeech();
  private readonly pending = new Int16Array(FRAME_SAMPLES);
  private pendingSamples = 0;
  private state: 'listening' | 'machine' | 'done' = 'listening';
  private nowMs = 0;
  private machineSinceMs = 0;
  /** `possible`: still too short. `sure`: a tone. `over`: ended, and waiting for the silence after it. */
  private beep: 'none' | 'possible' | 'sure' | 'over' = 'none';
  private quietMs = 0;
  private activeDb = 0;
  private activeFrames = 0;

  constructor(options: Partial<AnswerOptions> = {}) {
    this.bounds = { ...ANSWER_DEFAULTS, ...options };
  }

  readonly push: AnswerDetector['push'] = (frame) => {
    let found: Detection | undefined;
    for (let at = 0; at < frame.length && this.state !== 'done'; ) {
      const taken = Math.min(frame.length - at, FRAME_SAMPLES - this.pendingSamples);
      for (let i = 0; i < taken; i++) this.pending[this.pendingSamples + i] = frame[at + i] as number;
      at += taken;
      this.pendingSamples += taken;
      if (this.pendingSamples < FRAME_SAMPLES) break;
      this.pendingSamples = 0;
      found = this.takeFrame(this.pending) ?? found;
    }
    return found;
  };

  readonly end: AnswerDetector['end'] = () => {
    if (this.state === 'done') return undefined;
    // A machine that hangs up right after its beep leaves no silence to wait for.
    const found = this.beep === 'sure' || this.beep === 'over' ? this.finishedTone() : undefined;
    const ended = found ?? (this.state === 'listening' ? this.verdict('unknown', 'call_ended') : undefined);
    this.state = 'done';
    return ended;
  };

  private takeFrame(frame: Int16Array): Detection | undefined {
    this.nowMs += FRAME_MS;
    const power = this.spectrum.powerDb(frame);
    const active = this.floor.isActive(power);
    this.followTone(active ? this.spectrum.toneHz(frame) : 0, active);
    if (this.beep !== 'sure') {
      hear(this.speech, active, this.nowMs, FRAME_MS);
      if (active) {
        this.activeDb += power;
        this.activeFrames++;
      }
    }
    return this.toneVerdict() ?? (this.state === 'listening' ? this.firstVerdict() : this.machineVerdict());
  }

  private followTone(hz: number, active: boolean): void {
    const event = this.tone.next(hz);
    if (event === 'began') {
      Object.assign(this.beforeTone, this.speech);
      this.beep = 'possible';
    } else if (event === 'ended') {
      this.beep = this.beep === 'sure' ? 'over' : 'none';
      // The tone is over after two frames without it.
      this.quietMs = FRAME_MS;
    }
    if (this.beep === 'possible' && this.tone.ms() >= this.bounds.beepMinMs) {
      this.beep = 'sure';
      Object.assign(this.speech, this.beforeTone);
    }
    if (this.beep !== 'over') return;
    if (active && event !== 'ended') this.beep = 'none';
    else this.quietMs += FRAME_MS;
  }

  private toneVerdict(): Detection | undefined {
    if (this.beep === 'sure' && this.isNear(ANSWERING_FAX) && this.tone.ms() >= ANSWERING_FAX.minMs) {
      return this.verdict('fax', 'fax_tone');
    }
    if (this.beep !== 'over' || this.quietMs < QUIET_AFTER_BEEP_MS) return undefined;
    this.beep = 'none';
    return this.finishedTone();
  }

  private finishedTone(): Detection | undefined {
    if (
      this.speech.words === 0 &&
      this.isNear(CALLING_FAX) &&
      this.isWithin(CALLING_FAX.minMs, CALLING_FAX.maxMs)
    ) {
      return this.verdict('fax', 'fax_tone');
    }
    const isBeep =
      this.tone.hz() <= BEEP_HZ_MAX && this.isWithin(this.bounds.beepMinMs, this.bounds.beepMaxMs);
    return isBeep ? this.verdict('machine_end_beep', 'beep') : undefined;
  }

  private firstVerdict(): Detection | undefined {
    if (this.nowMs >= this.bounds.decideWithinMs) return this.verdict('unknown', 'undecided_too_long');
    if (this.toneIsOpen()) return undefined;
    if (this.speech.words === 0) {
      if (this.speech.soundingMs > 0 || this.nowMs < this.bounds.initialSilenceMs) return undefined;
      return this.verdict('unknown', 'nobody_spoke');
    }
    if (this.speech.lastWordEndMs - this.speech.firstWordAtMs >= this.bounds.greetingMaxMs) {
      return this.verdict('machine_start', 'long_greeting');
    }
    if (this.speech.words > this.bounds.wordsMax) return this.verdict('machine_start', 'many_words');
    return this.isQuietFor(this.bounds.speechEndMs) ? this.verdict('human', 'short_greeting') : undefined;
  }

  private machineVerdict(): Detection | undefined {
    if (this.nowMs - this.machineSinceMs >= this.bounds.greetingEndWithinMs)
      return this.verdict('unknown', 'greeting_too_long');
    if (this.toneIsOpen() || !this.isQuietFor(this.bounds.machineSilenceMs)) return undefined;
    return this.verdict('machine_end_silence', 'silence_after_greeting');
  }

  /** While the tone may still become a beep, nothing else is decided. */
  private readonly toneIsOpen = () =>
    this.beep === 'over' || (this.beep === 'sure' && this.tone.ms() <= this.bounds.beepMaxMs);

  private readonly isQuietFor = (ms: number) =>
    this.speech.soundingMs === 0 && this.nowMs - this.speech.lastWordEndMs >= ms;

  private readonly isNear = (fax: { hz: number; withinHz: number }) =>
    Math.abs(this.tone.hz() - fax.hz) <= fax.withinHz;

  private readonly isWithin = (min: number, max: number) => this.tone.ms() >= min && this.tone.ms() <= max;

  private verdict(answeredBy: AnsweredBy, reason: DetectionReason): Detection {
    this.state = answeredBy === 'machine_start' ? 'machine' : 'done';
    this.machineSinceMs = this.nowMs;
    const byTone = reason === 'beep' || reason === 'fax_tone';
    const timings = timingsOf(this.speech, {
      nowMs: this.nowMs,
      toneHz: byTone ? this.tone.hz() : 0,
      toneMs: byTone ? this.tone.ms() : 0,
      noiseDb: this.floor.db(),
      speechDb: this.activeFrames === 0 ? this.floor.db() : this.activeDb / this.activeFrames,
    });
    const confidence = confidenceOf(reason, timings, this.bounds.greetingMaxMs);
    return { answeredBy, reason, confidence, decidedAtMs: this.nowMs, timings };
  }
}
