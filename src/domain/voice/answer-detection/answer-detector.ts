import { type AnsweredBy, confidenceOf, type Detection, type DetectionReason, timingsOf } from './detection';
import { createFrameSpectrum, FRAME_MS, FRAME_SAMPLES } from './frame-spectrum';
import { createNoiseFloor } from './noise-floor';
import { createToneRun } from './tone-run';
import { createHeardSpeech, hear } from './word-count';

/**
 * Who has picked up? Listens to what comes from the callee, 8 kHz and 16 bit, and goes through
 *
 *   listening ──▶ human, fax, unknown, machine_end_beep          the end
 *       └───────▶ machine_start ──▶ machine_end_beep, machine_end_silence, unknown
 *
 * People say a little and wait; machines talk on, then beep and wait. So what decides is how long somebody
 * talks before the first real pause, and tones. Defaults are those of carriers, because campaigns are tuned
 * with them in mind; where carriers differ, those of the dialect we speak (Voxtelesys).
 *
 * It runs for every call at once, hence its memory is fixed, nothing is allocated between two detections,
 * and a second of audio takes less than a millisecond: docs/voice.md has the figure.
 */
export interface AnswerOptions {
  /** Without a word or tone for so long nobody is there; Twilio's and Voxtelesys' 5 s. */
  initialSilenceMs: number;
  /** Longer greetings are a machine's. Twilio's 2.4 s; Voxtelesys takes 2 s for homes and 3.2 s for offices. */
  greetingMaxMs: number;
  /** More words than this are a machine's, should its pauses add up slowly. A person says four in a second. */
  wordsMax: number;
  /** A pause that ends a person's greeting: Voxtelesys' 1 s, and the message still begins within 2 s of it. */
  speechEndMs: number;
  /** A pause that ends a machine's greeting without a beep. Beeps come up to 2 s after the last word. */
  machineSilenceMs: number;
  /** Beeps are 0.1 to 1 s long. One of 100 ms fills four frames, whichever way it meets them. */
  beepMinMs: number;
  /** Old machines beep for longer; beyond this it is a line's tone, and no beep. */
  beepMaxMs: number;
  /** The first verdict comes within this: what carriers wait at most. */
  decideWithinMs: number;
  /** And the end of a machine's greeting so long after its beginning: Vonage's shortest wait for a beep. */
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

/** Beeps' upper end; the fax's answer lies above it. */
const BEEP_HZ_MAX = 2_000;
/** ITU-T T.30: a calling fax says 1,100 Hz ± 38 for 0.5 s ± 15 %, an answering one 2,100 Hz ± 15 for 2.6 to 4 s. */
const CALLING_FAX = { hz: 1_100, withinHz: 38, minMs: 380, maxMs: 600 };
/** A fifth of it is enough, since nothing else beeps there; a little more tolerance for what measures it. */
const ANSWERING_FAX = { hz: 2_100, withinHz: 20, minMs: 600 };
/** A beep is followed by silence, a melody or a vowel by more of it. */
const QUIET_AFTER_BEEP_MS = 100;

export interface AnswerDetector {
  /**
   * Takes the next samples, in frames of any length. Answers when the verdict changes: at most twice in a
   * call. If that happens twice within one frame, the later one is answered.
   */
  push(frame: Int16Array): Detection | undefined;
  /** The call is over: the verdict, if there was none yet. */
  end(): Detection | undefined;
}

export function createAnswerDetector(options: Partial<AnswerOptions> = {}): AnswerDetector {
  const bounds = { ...ANSWER_DEFAULTS, ...options };
  const spectrum = createFrameSpectrum();
  const floor = createNoiseFloor();
  const tone = createToneRun();
  const speech = createHeardSpeech();
  /** Speech as it was before the tone that sounds: what turns out to be a beep was no word. */
  const beforeTone = createHeardSpeech();
  const pending = new Int16Array(FRAME_SAMPLES);
  let pendingSamples = 0;

  let state: 'listening' | 'machine' | 'done' = 'listening';
  let nowMs = 0;
  let machineSinceMs = 0;
  /** `possible`: too short yet. `sure`: a tone. `over`: ended, and waiting for the silence behind it. */
  let beep: 'none' | 'possible' | 'sure' | 'over' = 'none';
  let quietMs = 0;
  let activeDb = 0;
  let activeFrames = 0;

  function takeFrame(frame: Int16Array): Detection | undefined {
    nowMs += FRAME_MS;
    const power = spectrum.powerDb(frame);
    const active = floor.isActive(power);
    followTone(active ? spectrum.toneHz(frame) : 0, active);
    if (beep !== 'sure') {
      hear(speech, active, nowMs, FRAME_MS);
      if (active) {
        activeDb += power;
        activeFrames++;
      }
    }
    return toneVerdict() ?? (state === 'listening' ? firstVerdict() : machineVerdict());
  }

  function followTone(hz: number, active: boolean): void {
    const event = tone.next(hz);
    if (event === 'began') {
      Object.assign(beforeTone, speech);
      beep = 'possible';
    } else if (event === 'ended') {
      beep = beep === 'sure' ? 'over' : 'none';
      // The tone is over when two frames were none.
      quietMs = FRAME_MS;
    }
    if (beep === 'possible' && tone.ms() >= bounds.beepMinMs) {
      beep = 'sure';
      Object.assign(speech, beforeTone);
    }
    if (beep !== 'over') return;
    if (active && event !== 'ended') beep = 'none';
    else quietMs += FRAME_MS;
  }

  function toneVerdict(): Detection | undefined {
    if (beep === 'sure' && isNear(ANSWERING_FAX) && tone.ms() >= ANSWERING_FAX.minMs) {
      return verdict('fax', 'fax_tone');
    }
    if (beep !== 'over' || quietMs < QUIET_AFTER_BEEP_MS) return undefined;
    beep = 'none';
    return finishedTone();
  }

  function finishedTone(): Detection | undefined {
    if (speech.words === 0 && isNear(CALLING_FAX) && isWithin(CALLING_FAX.minMs, CALLING_FAX.maxMs)) {
      return verdict('fax', 'fax_tone');
    }
    const isBeep = tone.hz() <= BEEP_HZ_MAX && isWithin(bounds.beepMinMs, bounds.beepMaxMs);
    return isBeep ? verdict('machine_end_beep', 'beep') : undefined;
  }

  function firstVerdict(): Detection | undefined {
    if (nowMs >= bounds.decideWithinMs) return verdict('unknown', 'undecided_too_long');
    if (toneIsOpen()) return undefined;
    if (speech.words === 0) {
      if (speech.soundingMs > 0 || nowMs < bounds.initialSilenceMs) return undefined;
      return verdict('unknown', 'nobody_spoke');
    }
    if (speech.lastWordEndMs - speech.firstWordAtMs >= bounds.greetingMaxMs) {
      return verdict('machine_start', 'long_greeting');
    }
    if (speech.words > bounds.wordsMax) return verdict('machine_start', 'many_words');
    return isQuietFor(bounds.speechEndMs) ? verdict('human', 'short_greeting') : undefined;
  }

  function machineVerdict(): Detection | undefined {
    if (nowMs - machineSinceMs >= bounds.greetingEndWithinMs) return verdict('unknown', 'greeting_too_long');
    if (toneIsOpen() || !isQuietFor(bounds.machineSilenceMs)) return undefined;
    return verdict('machine_end_silence', 'silence_after_greeting');
  }

  /** Nothing else is decided while it may still become a beep. */
  const toneIsOpen = () => beep === 'over' || (beep === 'sure' && tone.ms() <= bounds.beepMaxMs);
  const isQuietFor = (ms: number) => speech.soundingMs === 0 && nowMs - speech.lastWordEndMs >= ms;
  const isNear = (fax: { hz: number; withinHz: number }) => Math.abs(tone.hz() - fax.hz) <= fax.withinHz;
  const isWithin = (min: number, max: number) => tone.ms() >= min && tone.ms() <= max;

  function verdict(answeredBy: AnsweredBy, reason: DetectionReason): Detection {
    state = answeredBy === 'machine_start' ? 'machine' : 'done';
    machineSinceMs = nowMs;
    const byTone = reason === 'beep' || reason === 'fax_tone';
    const timings = timingsOf(speech, {
      nowMs,
      toneHz: byTone ? tone.hz() : 0,
      toneMs: byTone ? tone.ms() : 0,
      noiseDb: floor.db(),
      speechDb: activeFrames === 0 ? floor.db() : activeDb / activeFrames,
    });
    const confidence = confidenceOf(reason, timings, bounds.greetingMaxMs);
    return { answeredBy, reason, confidence, decidedAtMs: nowMs, timings };
  }

  return {
    push(frame) {
      let found: Detection | undefined;
      for (let at = 0; at < frame.length && state !== 'done'; ) {
        const taken = Math.min(frame.length - at, FRAME_SAMPLES - pendingSamples);
        for (let i = 0; i < taken; i++) pending[pendingSamples + i] = frame[at + i] as number;
        at += taken;
        pendingSamples += taken;
        if (pendingSamples < FRAME_SAMPLES) break;
        pendingSamples = 0;
        found = takeFrame(pending) ?? found;
      }
      return found;
    },

    end() {
      if (state === 'done') return undefined;
      // Who hangs up right behind the beep does not wait for the silence.
      const found = beep === 'sure' || beep === 'over' ? finishedTone() : undefined;
      const ended = found ?? (state === 'listening' ? verdict('unknown', 'call_ended') : undefined);
      state = 'done';
      return ended;
    },
  };
}
