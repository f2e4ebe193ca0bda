export const TELEPHONE_HZ = 8_000;

/** Speech in telephone quality: 8 kHz, 16 bit, one channel. */
export interface Synthesizer {
  /**
   * Speaks a text. The same words in the same voice are the same samples, and a caller must not change them.
   * Throws `invalid_request` for a text it cannot speak, `dependency_down` when the engine fails, and
   * `overloaded` when too many texts wait.
   */
  synthesize(text: string, voice: string | undefined, language: string | undefined): Promise<Int16Array>;
  /** Whether there is a voice for a language tag. It is checked when a template is saved, not during a call. */
  speaks(language: string | undefined): boolean;
}

/** An engine on this machine, or why there is none and what the operator can do about it. */
export type SynthesizerFinding =
  | { available: true; executable: string; version: string; voices: readonly EngineVoice[] }
  | { available: false; reason: string; wayOut: string };

export interface EngineVoice {
  /** The engine's name of a language, `en-us`. */
  language: string;
  /** Among voices for one language, the engine prefers the lowest value. */
  priority: number;
}
