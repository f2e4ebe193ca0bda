import type { EngineVoice } from './synthesizer';

/** Spoken when a text names no language. */
const DEFAULT_LANGUAGE = 'en-us';

/** Tags that people write and the engine calls otherwise. */
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

/** Names of the dialect's voices for which there is something like it; the engine has no others. */
const FEMALE = /^(?:woman|female)$/i;

/**
 * The engine's voice for a BCP 47 tag: the tag itself, else with less and less of its end, else the
 * engine's first voice of that language. Undefined if it does not speak it. What comes out is one of the
 * engine's own names: nothing a template says becomes an argument.
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
