import { hash } from 'node:crypto';
import { LIMITS } from '../../domain/limits';
import { LANGUAGES, type Language } from '../../domain/opt-out-packs';
import { UNSUBSCRIBE_TEXTS, type UnsubscribeTexts } from './unsubscribe-texts';

/**
 * The pages behind an unsubscribe link: for people, without scripts, and with nothing from other servers. They
 * do not show the address, because mail gets forwarded.
 */
export type UnsubscribePage = 'ask' | 'done' | 'undone' | 'unknown' | 'busy';

/** No `action`, so that each form posts to its own page. */
const button = (name: string, value: string, label: string): string =>
  `<form method="post"><input type="hidden" name="${name}" value="${value}"><button>${label}</button></form>`;
const paragraph = (text: string): string => `<p>${text}</p>`;
/** Screen readers announce it, because it says what the button has done. */
const status = (text: string): string => `<p role="status">${text}</p>`;

const BODIES: Record<UnsubscribePage, (texts: UnsubscribeTexts) => string[]> = {
  ask: ({ ask, unsubscribe }) => [paragraph(ask.text), button('List-Unsubscribe', 'One-Click', unsubscribe)],
  done: ({ done, resubscribe }) => [
    status(done.text),
    paragraph(done.mistake),
    button('action', 'resubscribe', resubscribe),
  ],
  undone: ({ undone, unsubscribe }) => [
    status(undone.text),
    button('List-Unsubscribe', 'One-Click', unsubscribe),
  ],
  unknown: ({ unknown }) => [paragraph(unknown.text)],
  busy: ({ busy }) => [paragraph(busy.text)],
};

const STYLE = `:root { color-scheme: light dark; }
body { margin: 0; font: 1.125rem/1.5 system-ui, sans-serif; }
main { max-width: 36rem; margin: 10vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
button { min-height: 2.75rem; padding: 0.5rem 1.5rem; font: inherit; cursor: pointer; }
`;

/** The one style is allowed by its hash. Nothing else is loaded, and forms post only here. */
export const UNSUBSCRIBE_POLICY =
  `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'";

export function unsubscribePage(page: UnsubscribePage, language: Language): string {
  const texts = UNSUBSCRIBE_TEXTS[language];
  const { title } = texts[page];
  return `<!doctype html>
<html lang="${language}" dir="${texts.dir}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex, nofollow">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${title}</h1>
${BODIES[page](texts).join('\n')}
</main>
</body>
</html>
`;
}

/**
 * The language that a browser prefers among ours (RFC 9110, 12.5.4), otherwise English. Regions are ignored:
 * `pt-BR` and `pt-PT` are both Portuguese.
 */
export function preferredLanguage(header: string | undefined): Language {
  const wishes = (header ?? '').slice(0, LIMITS.acceptLanguageChars).split(',').map(readWish);
  const ours = wishes.flatMap(({ language, weight }) =>
    language && weight > 0 ? [{ language, weight }] : [],
  );
  // Sorting keeps the order of languages with equal weight.
  return ours.sort((a, b) => b.weight - a.weight)[0]?.language ?? 'en';
}

function readWish(wish: string): { language: Language | undefined; weight: number } {
  const [range = '', ...parameters] = wish.split(';').map((part) => part.trim().toLowerCase());
  const name = range === '*' ? 'en' : range.split('-', 1)[0];
  const weight = parameters.find((parameter) => parameter.startsWith('q='));
  return {
    language: LANGUAGES.find((language) => language === name),
    weight: weight === undefined ? 1 : Number(weight.slice(2)) || 0,
  };
}
