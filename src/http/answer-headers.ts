import type { App } from './routing';

/** A year, as browsers' own lists of https sites ask for. */
const HSTS = 'max-age=31536000; includeSubDomains';

/**
 * Headers of every answer (api.md 17). An answer is what its type says and nothing else, is read by our own
 * origin only, and JSON is kept by no cache, because nearly all of it belongs to one caller.
 */
export function protectAnswers(app: App, publicUrl: string | undefined): void {
  const https = publicUrl?.startsWith('https:') ?? false;
  app.addHook('onRequest', (_request, reply, done) => {
    reply.header('x-content-type-options', 'nosniff');
    reply.header('cross-origin-resource-policy', 'same-origin');
    reply.header('cross-origin-opener-policy', 'same-origin');
    if (https) reply.header('strict-transport-security', HSTS);
    done();
  });
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (/\bjson\b/.test(String(reply.getHeader('content-type')))) reply.header('cache-control', 'no-store');
    done(null, payload);
  });
}
