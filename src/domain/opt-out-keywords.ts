import { LIMITS } from './limits';
import { LANGUAGES, type Language, PACKS } from './opt-out-packs';

/** What an SMS from a subscriber asks for. */
export type KeywordAction = 'stop' | 'start' | 'help';

export type KeywordReading =
  | {
      action: KeywordAction;
      /** The word or phrase of our list that was found, never the subscriber's text. */
      keyword: string;
      /** `fuzzy`: the text says more than the keyword, so that a person may want to read it. */
      match: 'exact' | 'fuzzy';
      language: Language;
    }
  | { action: 'none' };

/**
 * Reads a text cautiously (api.md 9). A text that is only a keyword counts, however it is written. A text that
 * begins with a word for stopping, or contains a phrase that means it, also stops. To start again or to get
 * help, the text must be the keyword and nothing else.
 */
export function readKeyword(text: string): KeywordReading {
  const { words, joined } = normalised(text.slice(0, LIMITS.inboundTextChars));
  for (const action of ['stop', 'start', 'help'] as const) {
    for (const form of [words, joined]) {
      const language = WORDS[action].get(form);
      if (language) return { action, keyword: form.toUpperCase(), match: 'exact', language };
    }
  }
  const first = words.split(' ', 1)[0] ?? '';
  const stopping = WORDS.stop.get(first);
  if (stopping) return { action: 'stop', keyword: first.toUpperCase(), match: 'fuzzy', language: stopping };
  for (const [phrase, language] of PHRASES) {
    if (` ${words} `.includes(` ${phrase} `)) {
      return { action: 'stop', keyword: phrase.toUpperCase(), match: 'fuzzy', language };
    }
  }
  return { action: 'none' };
}

/**
 * `words`: punctuation separates words. `joined`: punctuation is removed, because it stands inside a word or
 * between single letters, as in S.T.O.P.
 */
function normalised(text: string): { words: string; joined: string } {
  const folded = text
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll('ß', 'ss')
    .normalize('NFD')
    .replace(/[\p{M}\p{Cf}'\u2018\u2019`]/gu, '');
  const words = folded.replace(/[\p{P}\p{S}\p{Cc}\s]+/gu, ' ').trim();
  const joined = /^(?:\S )+\S$/u.test(words)
    ? words.replaceAll(' ', '')
    : folded
        .replace(/[\p{P}\p{S}]+/gu, '')
        .replace(/\s+/g, ' ')
        .trim();
  return { words, joined };
}

const wordsFor = (action: KeywordAction) => collect((language) => PACKS[language][action]);
const WORDS: Record<KeywordAction, ReadonlyMap<string, Language>> = {
  stop: wordsFor('stop'),
  start: wordsFor('start'),
  help: wordsFor('help'),
};
const PHRASES = collect((language) => PACKS[language].phrases);

/** A word of several languages belongs to the first one. */
function collect(of: (language: Language) => readonly string[]): ReadonlyMap<string, Language> {
  const found = new Map<string, Language>();
  for (const language of LANGUAGES) {
    for (const word of of(language)) if (!found.has(word)) found.set(word, language);
  }
  return found;
}
