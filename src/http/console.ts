import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { DomainError } from '../domain/errors';
import { sessionTokenOf } from './request/cookie';
import type { App } from './request/routing';

/**
 * The console: a page and its files, built by vite into `dist/console`. Nothing here asks who calls, because the
 * console is a client of the API like any other. Files have hashed names and are kept for a year; the page that names them never is.
 */
export function consoleRoutes(
  directory: string,
  { oidc }: { /** Whether users can log in at an OpenID provider. */ oidc: boolean },
): (app: App) => Promise<void> {
  const page = readFileSync(join(directory, 'index.html'), 'utf8').replace(
    'data-oidc="unknown"',
    `data-oidc="${oidc ? 'offered' : 'none'}"`,
  );
  const pages = { some: Buffer.from(marked(page, 'some')), none: Buffer.from(marked(page, 'none')) };
  // Compressed files are served by `accept-encoding` and have no address of their own.
  const files = new Set(readdirSync(join(directory, 'assets')).filter((name) => !/\.(br|gz)$/.test(name)));
  const config = { auth: 'open' } as const;

  return async (app) => {
    await app.register(fastifyStatic, {
      root: join(directory, 'assets'),
      // Own routes below, because every route says who may call it.
      serve: false,
      preCompressed: true,
      immutable: true,
      maxAge: '365d',
      index: false,
    });

    app.get('/', { config }, async (_request, reply) => reply.redirect('/console/'));
    // The router treats both forms alike, and relative addresses need the one with the slash.
    app.get('/console', { config }, async (request, reply) =>
      /^\/console(\?|$)/.test(request.raw.url ?? '')
        ? reply.redirect('/console/')
        : sendPage(request, reply, pages),
    );
    app.get('/console/preview.html', { config }, async (_request, reply) =>
      reply
        .headers({ ...SAFE, 'content-security-policy': PREVIEW_POLICY, 'cache-control': 'no-store' })
        .type('text/html; charset=utf-8')
        .send(PREVIEW),
    );
    app.get(
      '/console/assets/:file',
      { config, schema: { params: z.object({ file: z.string() }) } },
      async ({ params: { file } }, reply) => {
        if (!files.has(file)) throw missing();
        return reply.headers(SAFE).sendFile(file);
      },
    );
    // Every address of the console is the same page; a name with an ending is a file that is not there.
    app.get('/console/*', { config }, async (request, reply) => {
      const [path = ''] = (request.raw.url ?? '').split('?');
      if (/\.[a-z0-9]{2,5}$/i.test(path)) throw missing();
      return sendPage(request, reply, pages);
    });
  };
}

const missing = () => new DomainError('not_found', 'There is no such file of the console');

const POLICY = [
  ...["default-src 'self'", "script-src 'self'", "style-src 'self'", "img-src 'self' data:"],
  ...[
    "connect-src 'self'",
    "object-src 'none'",
    "frame-ancestors 'none'",
    "base-uri 'none'",
    "form-action 'self'",
  ],
].join('; ');

/**
 * For the frame in which an email is shown: styles of the email hold there, scripts do not run, and nothing is loaded
 * from anywhere. `allow-same-origin` lets the console write the email into it.
 */
const PREVIEW_POLICY = [
  ...["default-src 'none'", "style-src 'unsafe-inline'", 'img-src data:', "frame-ancestors 'self'"],
  ...["form-action 'none'", "base-uri 'none'", 'sandbox allow-same-origin'],
].join('; ');

const PREVIEW = '<!doctype html><html lang="en"><head><title>Preview</title></head><body></body></html>\n';

const SAFE = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };

/** The page learns whether the browser has a session's cookie, which scripts cannot see, and asks for none in vain. */
const marked = (page: string, session: keyof Pages) =>
  page.replace('data-session="unknown"', `data-session="${session}"`);

type Pages = Record<'some' | 'none', Buffer>;

function sendPage(request: FastifyRequest, reply: FastifyReply, pages: Pages): FastifyReply {
  return reply
    .headers({ ...SAFE, 'content-security-policy': POLICY, 'cache-control': 'no-store' })
    .type('text/html; charset=utf-8')
    .send(sessionTokenOf(request.headers.cookie) ? pages.some : pages.none);
}
