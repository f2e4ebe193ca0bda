import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ERRORS, type RetryClass } from '../../domain/errors';

/**
 * The pages about the API. They load files only from this process, and the browser is told to allow nothing
 * else. An installation may have no internet access, and no other server should learn who reads here.
 */
export const PAGE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; " +
  "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export const referencePage = page(
  'Fanfare API',
  `<link rel="stylesheet" href="/docs/static/swagger-ui.css">
<script src="/docs/static/swagger-ui-bundle.js" defer></script>
<script src="/docs/static/reference.js" defer></script>`,
  '<div id="reference"></div>\n<noscript>The document itself: <a href="/openapi.json">openapi.json</a></noscript>',
);

const RETRY: Record<RetryClass, string> = {
  permanent: 'The same call fails again.',
  transient: 'Worth another try later, after Retry-After if it is there.',
  throttled: 'Asked to slow down: wait as Retry-After says, then go on.',
  account: 'Concerns every call, not this one alone: stop, and have the credentials looked at.',
  unknown: 'It may have been done: do not repeat it blindly.',
};

export const errorsPage = page(
  'Errors of the Fanfare API',
  '',
  `<main>
<h1>Errors</h1>
<p>An error is a problem document (RFC 9457). Its <code>code</code> is one of these and never changes its meaning.</p>
${Object.entries(ERRORS).map(errorEntry).join('\n')}
</main>`,
);

/** The error catalogue as data. */
export const errorList = {
  errors: Object.entries(ERRORS).map(([code, { title, status, retry }]) => ({ code, title, status, retry })),
};

function errorEntry([code, { title, status, retry }]: [
  string,
  { title: string; status: number; retry: RetryClass },
]): string {
  return `<section id="${code}">
<h2><a href="#${code}"><code>${code}</code></a></h2>
<p>${title}. Status ${status}. ${RETRY[retry]}</p>
</section>`;
}

function page(title: string, head: string, body: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/static/reference.css">
${head}
</head>
<body>
${body}
</body>
</html>
`;
}

const STYLE = `body { margin: 0; font-family: system-ui, sans-serif; line-height: 1.5; }
main { max-width: 48rem; margin: 2rem auto; padding: 0 1rem; }
section:target { background: #fff6d6; }
h2 { margin-bottom: 0; font-size: 1.1rem; }
h2 a { color: inherit; text-decoration: none; }
`;

/** No validator, because the default one is another company's server. */
const SCRIPT = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reference',
  deepLinking: true,
  docExpansion: 'none',
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
`;

export const ASSETS = ['reference.css', 'reference.js', 'swagger-ui.css', 'swagger-ui-bundle.js'] as const;
export type Asset = (typeof ASSETS)[number];

const OWN: Partial<Record<Asset, string>> = { 'reference.css': STYLE, 'reference.js': SCRIPT };
const loaded = new Map<Asset, Promise<Buffer>>();

/** A file of the pages; files from packages are read once. */
export function assetOf(name: Asset): Promise<Buffer> {
  const known = loaded.get(name);
  if (known) return known;
  const own = OWN[name];
  const content =
    own === undefined
      ? readFile(join(dirname(require.resolve('@fastify/swagger-ui/package.json')), 'static', name))
      : Promise.resolve(Buffer.from(own));
  loaded.set(name, content);
  content.catch(() => loaded.delete(name));
  return content;
}
