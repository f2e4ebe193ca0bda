import type { EngineVoice } from './synthesizer';

/** The language of a text that names none. */
const DEFAULT_LANGUAGE = 'en-us';

/** Tags for which the engine has another name. */
const CALLED: Readonly<Record<string, string>> = {
  en: 'en-us',
  zh: 'cmn',
  'zh-hk': 'yue',
  no: 'nb',
  nn: 'nb',
  'en-uk': 'en-gb',
  fil: 'tl',
  iw: 'he',
  in: 'id',
  'fr-ca': 'fr-fr',
};
/** Spanish of the Americas; `es` is that of Spain. */
const LATIN_AMERICA = /^es-(?:ar|bo|cl|co|cr|cu|do|ec|gt|hn|mx|ni|pa|pe|pr|py|sv|us|uy|ve)$/;

/** The dialect's voice names that the engine has an equivalent for. */
const FEMALE = /^(?:woman|female)$/i;

/**
 * The engine's voice for a BCP 47 tag: for the tag itself, otherwise for shorter and shorter parts of it,
 * otherwise the engine's first voice of that language. Undefined if it does not speak the language. The result
 * is always one of the engine's own names, so that no text of a template becomes an argument.
 */
export function voiceFor(
  voices: readonly EngineVoice[],
  language: string | undefined,
  voice: string | undefined,
): string | undefined {
  const found = languageFor(voices, (language ?? DEFAULT_LANGUAGE).toLowerCase().replaceAll('_', '-'));
  return found !== undefined && voice !== undefined && FEMALE.test(voice) ? `${found}+f2` : found;
}

function languageFor(voices: readonly EngineVoice[], tag: string): string | undefined {
  const known = new Set(voices.map(({ language }) => language));
  if (LATIN_AMERICA.test(tag) && known.has('es-419')) return 'es-419';
  const subtags = tag.split('-');
  for (let kept = subtags.length; kept > 0; kept--) {
    const shorter = subtags.slice(0, kept).join('-');
    const called = Object.hasOwn(CALLED, shorter) ? CALLED[shorter] : undefined;
    if (called !== undefined && known.has(called)) return called;
    if (known.has(shorter)) return shorter;
  }
  return voices
    .filter(({ language }) => language.startsWith(`${subtags[0]}-`))
    .toSorted((a, b) => a.priority - b.priority || (a.language < b.language ? -1 : 1))[0]?.language;
}
