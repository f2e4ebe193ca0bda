import type { HeardSpeech } from './word-count';

export const ANSWERED_BY = [
  'human',
  'machine_start',
  'machine_end_beep',
  'machine_end_silence',
  'fax',
  'unknown',
] as const;
export type AnsweredBy = (typeof ANSWERED_BY)[number];

/** The rule that decided. */
export type DetectionReason =
  | 'short_greeting'
  | 'long_greeting'
  | 'many_words'
  | 'beep'
  | 'silence_after_greeting'
  | 'fax_tone'
  | 'nobody_spoke'
  | 'undecided_too_long'
  | 'greeting_too_long'
  | 'call_ended';

export interface Detection {
  answeredBy: AnsweredBy;
  reason: DetectionReason;
  /** 0 to 1: how far the call was from the opposite result. It is no probability; 0 for `unknown`. */
  confidence: number;
  decidedAtMs: number;
  timings: DetectionTimings;
}

export interface DetectionTimings {
  /** Until the first word, or until now if there was none. */
  initialSilenceMs: number;
  /** From the first word to the end of the last, including pauses. */
  greetingMs: number;
  voicedMs: number;
  words: number;
  longestPauseMs: number;
  /** Since the last word. */
  silenceMs: number;
  /** The tone that decided; 0 if none did. */
  toneHz: number;
  toneMs: number;
  /** In dB below full scale: the line while no person speaks, and the mean of the speech. */
  noiseDb: number;
  speechDb: number;
}

/** Speech less than this above the line's noise leaves gaps in words, so that counts are less reliable. */
const CLEAR_SPEECH_DB = 12;
const UNCLEAR = 0.85;

/** The scales are our own; only their order matters: a beep is surer than a pause, a pause surer than a count. */
export function confidenceOf(
  reason: DetectionReason,
  timings: DetectionTimings,
  greetingMaxMs: number,
): number {
  const clear = timings.words === 0 || timings.speechDb - timings.noiseDb >= CLEAR_SPEECH_DB ? 1 : UNCLEAR;
  switch (reason) {
    case 'short_greeting':
      // "Hello?" is certain; a greeting just below the limit may as well be a machine's first sentence.
      return clear * (0.55 + 0.4 * Math.max(0, 1 - timings.greetingMs / greetingMaxMs));
    case 'long_greeting':
      // A person who reads a text aloud pauses less than one who talks.
      return clear * (0.6 + 0.3 * Math.min(1, timings.voicedMs / Math.max(1, timings.greetingMs)));
    case 'many_words':
      return clear * 0.7;
    case 'beep':
      return timings.words > 0 ? 0.95 : 0.6;
    case 'silence_after_greeting':
      return 0.8;
    case 'fax_tone':
      return 0.95;
    default:
      return 0;
  }
}

export function timingsOf(
  speech: HeardSpeech,
  heard: { nowMs: number; toneHz: number; toneMs: number; noiseDb: number; speechDb: number },
): DetectionTimings {
  const spoke = speech.words > 0;
  return {
    initialSilenceMs: spoke ? speech.firstWordAtMs : heard.nowMs,
    greetingMs: spoke ? speech.lastWordEndMs - speech.firstWordAtMs : 0,
    voicedMs: speech.voicedMs,
    words: speech.words,
    longestPauseMs: speech.longestPauseMs,
    silenceMs: spoke ? heard.nowMs - speech.lastWordEndMs : heard.nowMs,
    toneHz: Math.round(heard.toneHz),
    toneMs: heard.toneMs,
    noiseDb: Math.round(heard.noiseDb),
    speechDb: Math.round(heard.speechDb),
  };
}
