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
  const bounds = { ...ANSWER_DEFAULTS, ...options };
  const spectrum = createFrameSpectrum();
  const floor = createNoiseFloor();
  const tone = createToneRun();
  const speech = createHeardSpeech();
  /** The speech before the present tone, because a tone that becomes a beep was no word. */
  const beforeTone = createHeardSpeech();
  const pending = new Int16Array(FRAME_SAMPLES);
  let pendingSamples = 0;

  let state: 'listening' | 'machine' | 'done' = 'listening';
  let nowMs = 0;
  let machineSinceMs = 0;
  /** `possible`: still too short. `sure`: a tone. `over`: ended, and waiting for the silence after it. */
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
      // The tone is over after two frames without it.
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

  /** While the tone may still become a beep, nothing else is decided. */
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
      // A machine that hangs up right after its beep leaves no silence to wait for.
      const found = beep === 'sure' || beep === 'over' ? finishedTone() : undefined;
      const ended = found ?? (state === 'listening' ? verdict('unknown', 'call_ended') : undefined);
      state = 'done';
      return ended;
    },
  };
}
