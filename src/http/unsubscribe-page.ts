import { hash } from 'node:crypto';

/**
 * The pages behind a link that unsubscribes: for people, without scripts, and with nothing from anywhere else.
 * They do not say whose address it is, since mail gets forwarded.
 */
export type UnsubscribePage = 'ask' | 'done' | 'undone' | 'unknown' | 'busy';

/** No path in `action`: each form posts to the page it stands on. */
const button = (name: string, value: string, label: string): string =>
  `<form method="post"><input type="hidden" name="${name}" value="${value}"><button>${label}</button></form>`;
const UNSUBSCRIBE = button('List-Unsubscribe', 'One-Click', 'Unsubscribe');
const RESUBSCRIBE = button('action', 'resubscribe', 'Subscribe again');

const PAGES: Record<UnsubscribePage, { title: string; body: string }> = {
  ask: {
    title: 'Unsubscribe?',
    body: `<p>The address that this link was sent to will get no more emails from this sender.</p>\n${UNSUBSCRIBE}`,
  },
  done: {
    title: 'You are unsubscribed',
    body: `<p role="status">The address that this link was sent to gets no more emails from this sender. One that is on its way already may still arrive.</p>\n<p>Was this a mistake?</p>\n${RESUBSCRIBE}`,
  },
  undone: {
    title: 'You are subscribed again',
    body: `<p role="status">The address that this link was sent to may get emails from this sender again.</p>\n${UNSUBSCRIBE}`,
  },
  unknown: {
    title: 'This link does not work',
    body: '<p>Part of it may be missing. Open it from the email once more, or answer the email.</p>',
  },
  busy: {
    title: 'Too many tries',
    body: '<p>Please wait a minute and try again.</p>',
  },
};

const STYLE = `:root { color-scheme: light dark; }
body { margin: 0; font: 1.125rem/1.5 system-ui, sans-serif; }
main { max-width: 36rem; margin: 10vh auto; padding: 0 1.5rem; }
h1 { font-size: 1.5rem; line-height: 1.25; }
button { min-height: 2.75rem; padding: 0.5rem 1.5rem; font: inherit; cursor: pointer; }
`;

/** The one style is named by what it is; there is nothing else to load, and a form goes nowhere but here. */
export const UNSUBSCRIBE_POLICY =
  `default-src 'none'; style-src 'sha256-${hash('sha256', STYLE, 'base64')}'; form-action 'self'; ` +
  "base-uri 'none'; frame-ancestors 'none'";

export function unsubscribePage(page: UnsubscribePage): string {
  const { title, body } = PAGES[page];
  return `<!doctype html>
<html lang="en">
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
${body}
</main>
</body>
</html>
`;
}
