import type { Instruction } from '../../domain/voice/call-script';
import type { Inability } from '../vendor/vendor';

/**
 * What Telnyx's own voices speak (`language` of its command `speak`). It refuses a command with any other language. The
 * first of several regions is the one that is meant where none is named.
 */
const LANGUAGES = [
  ...[
    'en-US',
    'en-GB',
    'en-AU',
    'en-IN',
    'en-GB-WLS',
    'es-ES',
    'es-MX',
    'es-US',
    'fr-FR',
    'fr-CA',
    'pt-BR',
    'pt-PT',
  ],
  ...[
    'arb',
    'cmn-CN',
    'cy-GB',
    'da-DK',
    'de-DE',
    'hi-IN',
    'is-IS',
    'it-IT',
    'ja-JP',
    'ko-KR',
    'nb-NO',
    'nl-NL',
  ],
  ...['pl-PL', 'ro-RO', 'ru-RU', 'sv-SE', 'tr-TR'],
] as const;
type Language = (typeof LANGUAGES)[number];

/** Languages that it calls otherwise. */
const OTHER_NAMES: Readonly<Record<string, Language>> = { ar: 'arb', zh: 'cmn-CN', no: 'nb-NO', nn: 'nb-NO' };

/** Another region of a language is better than no call; `undefined` for a language that no voice speaks. */
export function spokenAtTelnyx(tag: string): Language | undefined {
  const wanted = tag.toLowerCase();
  const [primary = ''] = wanted.split('-');
  return (
    LANGUAGES.find((one) => one.toLowerCase() === wanted) ??
    LANGUAGES.find((one) => one.toLowerCase().split('-')[0] === primary) ??
    OTHER_NAMES[primary]
  );
}

/** `man` and `woman` are Twilio's words; a name with a dot is a voice of a speech provider. */
export function voiceOf({ voice, language = 'en-US' }: Extract<Instruction, { do: 'speak' }>) {
  const name = voice ?? 'female';
  const known = /^polly\./i.test(name) ? `AWS.${name}` : name.includes('.') ? name : undefined;
  return {
    voice: known ?? (/^(man|male)$/i.test(name) ? 'male' : 'female'),
    // A document that is fetched during the call was not checked before the call; a foreign accent is better
    // than a call cut short.
    language: spokenAtTelnyx(language) ?? 'en-US',
    payload_type: 'text',
  };
}

/** Texts of a call document in a language that none of Telnyx's own voices speaks; voices with a provider's name have their own. */
export function unspokenAtTelnyx(document: string): Inability[] {
  const tags = [...document.matchAll(/<(?:Say|Speak)\b([^>]*)>/g)].flatMap(([, attributes = '']) => {
    const value = (name: string) => new RegExp(`\\s${name}\\s*=\\s*["']([^"']*)["']`).exec(attributes)?.[1];
    const language = value('language');
    return language === undefined || value('voice')?.includes('.') || spokenAtTelnyx(language)
      ? []
      : [language];
  });
  return [...new Set(tags)].map((tag) => ({
    ...{
      about: 'template',
      message: `No voice there speaks the language ${tag}, unless a speech provider’s is named`,
    },
  }));
}
