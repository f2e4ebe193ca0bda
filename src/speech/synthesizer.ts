export const TELEPHONE_HZ = 8_000;

/** Speech as telephones take it: 8 kHz, 16 bit, one channel. */
export interface Synthesizer {
  /**
   * Speaks a text. The same words in the same voice are the same samples, and whoever gets them must not
   * change them. Refuses with `invalid_request` what it cannot say, with `dependency_down` when the
   * engine fails, with `overloaded` when too much is waiting.
   */
  synthesize(text: string, voice: string | undefined, language: string | undefined): Promise<Int16Array>;
  /** Whether there is a voice for a language tag: asked when a template is made, not when somebody is called. */
  speaks(language: string | undefined): boolean;
}

/** An engine on this machine, or why there is none and what the operator can do about it. */
export type SynthesizerFinding =
  | { available: true; executable: string; version: string; voices: readonly EngineVoice[] }
  | { available: false; reason: string; wayOut: string };

export interface EngineVoice {
  /** The engine's name of a language, `en-us`. */
  language: string;
  /** The engine prefers the lowest among voices for one language. */
  priority: number;
}
