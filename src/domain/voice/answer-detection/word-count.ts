/** The speech heard so far. Times count from the answer. */
export interface HeardSpeech {
  /** Beginning of the first word and end of the last; -1 while there is none. */
  firstWordAtMs: number;
  lastWordEndMs: number;
  words: number;
  /** Duration of the words, without the gaps between them. */
  voicedMs: number;
  longestPauseMs: number;
  /** Duration of the present sound, which is a word or may become one; 0 in a pause. */
  soundingMs: number;
  soundingSinceMs: number;
  quietMs: number;
}

export const createHeardSpeech = (): HeardSpeech => ({
  firstWordAtMs: -1,
  lastWordEndMs: -1,
  words: 0,
  voicedMs: 0,
  longestPauseMs: 0,
  soundingMs: 0,
  soundingSinceMs: 0,
  quietMs: 0,
});

/** Shorter sounds are clicks and coughs, a shorter pause is a consonant: Asterisk's 100 ms and 50 ms, in frames. */
const WORD_MS = 100;
const BETWEEN_WORDS_MS = 60;

/** Takes the sound or quiet of `frameMs` that ends at `nowMs`. Words are what pauses separate. */
export function hear(speech: HeardSpeech, active: boolean, nowMs: number, frameMs: number): void {
  if (!active) {
    speech.quietMs += frameMs;
    if (speech.quietMs >= BETWEEN_WORDS_MS) speech.soundingMs = 0;
    return;
  }
  if (speech.soundingMs === 0) speech.soundingSinceMs = nowMs - frameMs;
  speech.quietMs = 0;
  const before = speech.soundingMs;
  speech.soundingMs += frameMs;
  if (speech.soundingMs < WORD_MS) return;
  if (before >= WORD_MS) speech.voicedMs += frameMs;
  else {
    speech.words++;
    speech.voicedMs += speech.soundingMs;
    if (speech.firstWordAtMs < 0) speech.firstWordAtMs = speech.soundingSinceMs;
    else {
      const pause = speech.soundingSinceMs - speech.lastWordEndMs;
      speech.longestPauseMs = Math.max(speech.longestPauseMs, pause);
    }
  }
  speech.lastWordEndMs = nowMs;
}
