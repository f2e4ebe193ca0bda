import { DomainError } from '../domain/errors';
import { createTurns } from '../domain/in-parallel';
import { LIMITS } from '../domain/limits';
import { runEngine } from './espeak-process';
import { createSpeechCache } from './speech-cache';
import { type EngineVoice, type Synthesizer, type SynthesizerFinding, TELEPHONE_HZ } from './synthesizer';
import { createResampler, readWav } from './telephone-samples';

/** Rates of espeak's voices and of those it takes from MBROLA. */
const ENGINE_HZ = [8_000, 16_000, 22_050];
/** Words per minute. The engine's own 175 are hard to understand on a telephone. */
const WORDS_PER_MINUTE = 160;

export interface EspeakOptions {
  /** The result of `findSynthesizer`. */
  found: Extract<SynthesizerFinding, { available: true }>;
  /** A directory that keeps spoken texts across restarts. */
  cacheDirectory?: string;
  /** For tests; otherwise those of LIMITS. */
  limits?: Partial<SpeechLimits>;
}

type SpeechLimits = Record<
  | 'speechTextChars'
  | 'speechOutputBytes'
  | 'speechTimeoutMs'
  | 'speechProcesses'
  | 'speechWaiting'
  | 'speechCacheBytes'
  | 'speechDirectoryBytes',
  number
>;

/**
 * Speaks by espeak-ng, with one process for each text that is not cached. Sentences without values are the same
 * for every call of a campaign, so that they cost one process and then a look into the cache.
 */
export function createEspeakSynthesizer(options: EspeakOptions): Synthesizer {
  const { executable, version, voices } = options.found;
  const limits: SpeechLimits = { ...LIMITS, ...options.limits };
  const cache = createSpeechCache({
    memoryBytesMax: limits.speechCacheBytes,
    ...(options.cacheDirectory !== undefined && {
      directory: { path: options.cacheDirectory, bytesMax: limits.speechDirectoryBytes },
    }),
  });
  const inTurn = createTurns(limits.speechProcesses, {
    waitingMax: limits.speechWaiting,
    refusal: () =>
      new DomainError('overloaded', `${limits.speechWaiting} texts are waiting to be spoken already`, {
        retryAfterSeconds: 1,
      }),
  });
  const resamplers = new Map<number, (input: Int16Array) => Int16Array>();

  async function speak(text: string, voice: string): Promise<Int16Array> {
    const args = ['-v', voice, '-s', `${WORDS_PER_MINUTE}`, '-b', '1', '-z', '--stdin', '--stdout'];
    const result = await runEngine(executable, args, {
      input: text,
      timeoutMs: limits.speechTimeoutMs,
      outputBytesMax: limits.speechOutputBytes,
    });
    // Neither message contains the text, because it may hold a person's name.
    if (!result.ok) throw new DomainError('dependency_down', `the speech engine ${result.problem}`);
    const wav = readWav(result.output);
    if (!wav || !ENGINE_HZ.includes(wav.rate)) {
      throw new DomainError('dependency_down', 'the speech engine wrote something that is no speech');
    }
    return resamplerOf(wav.rate)(wav.samples);
  }

  function resamplerOf(rate: number): (input: Int16Array) => Int16Array {
    const made = resamplers.get(rate) ?? createResampler(rate, TELEPHONE_HZ);
    resamplers.set(rate, made);
    return made;
  }

  return {
    async synthesize(text, voice, language) {
      if (text.length > limits.speechTextChars) {
        const message = `a text of ${text.length} characters cannot be spoken; at most ${limits.speechTextChars}`;
        throw new DomainError('invalid_request', message);
      }
      const engineVoice = voiceFor(voices, language, voice);
      if (engineVoice === undefined) {
        throw new DomainError('invalid_request', `there is no voice for the language ${language}`);
      }
      const spoken = speakable(text);
      if (spoken === '') return new Int16Array(0);
      return cache.get([version, engineVoice, `${WORDS_PER_MINUTE}`, spoken], () =>
        inTurn(() => speak(spoken, engineVoice)),
      );
    },
    speaks: (language) => voiceFor(voices, language, undefined) !== undefined,
  };
}

/**
 * Removes what the engine would take for instructions: control characters begin commands or end the text, and
 * double brackets hold phonemes. Half a surrogate pair is no UTF-8.
 */
function speakable(text: string): string {
  return text
    .toWellFormed()
    .replace(/\p{Cc}+/gu, ' ')
    .replace(/\[(?=\[)/g, '[ ')
    .replace(/\s+/g, ' ')
    .trim();
}

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
