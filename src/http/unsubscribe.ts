import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { answer } from '../contracts/common';
import { linkAnswer, unsubscribeBody } from '../contracts/unsubscribe';
import { BoundedCache } from '../domain/bounded-cache';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Unsubscribe } from '../messaging/suppression/unsubscribe';
import type { Subscriber } from '../messaging/suppression/unsubscribe-tokens';
import { answered, EXAMPLE } from './openapi/examples';
import type { Operation } from './openapi/operation';
import {
  preferredLanguage,
  UNSUBSCRIBE_POLICY,
  type UnsubscribePage,
  unsubscribePage,
} from './pages/unsubscribe-page';
import { OPEN } from './request/access';
import { callerAddress } from './request/caller-address';
import type { App } from './request/routing';

declare module 'fastify' {
  interface FastifyRequest {
    subscriber: Subscriber | undefined;
  }
}

/**
 * The link in a mail (api.md 9, RFC 8058). GET changes nothing, because mail scanners follow links. POST needs
 * no cookie, redirects nowhere, and may be repeated. A holder of a link may post as often as a person would. A
 * limit per caller would refuse mail services, because they post for thousands.
 */
export function unsubscribeRoutes(links: Unsubscribe): (app: App) => void {
  const config = { auth: 'open' } as const;
  const params = z.object({ token: z.string() });
  const byLink = createRateWindow(LIMITS.unsubscribesPerMinute);
  const wrong = createRateWindow(LIMITS.wrongLinksPerMinute);

  /** Returns whether the address gets no mail now. A block that another party made stays, and the page says so. */
  const carryOut = async (wish: 'unsubscribe' | 'resubscribe', subscriber: Subscriber | undefined) => {
    if (subscriber && wish === 'resubscribe') return (await links.resubscribe(subscriber)).isBlocked;
    if (subscriber) await links.unsubscribe(subscriber);
    return wish === 'unsubscribe';
  };

  /** Before the body is read. */
  const findSubscriber = async (request: FastifyRequest, reply: FastifyReply) => {
    reply.headers(HEADERS);
    const { token } = request.params as { token: string };
    request.subscriber = links.subscriberOf(token);
    if (!request.subscriber) {
      const waitSeconds = wrong.take(callerAddress(request));
      return waitSeconds > 0
        ? refuse(request, reply, 'busy', tooMany(waitSeconds))
        : refuse(request, reply, 'unknown', new DomainError('not_found', 'There is nothing at this path'));
    }
    if (request.method !== 'POST') return;
    const waitSeconds = byLink.take(token);
    if (waitSeconds > 0) return refuse(request, reply, 'busy', tooMany(waitSeconds));
  };

  return (app) => {
    app.decorateRequest('subscriber', undefined);
    app.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: LIMITS.unsubscribeBodyBytes },
      (_request, text, done) => done(null, Object.fromEntries(new URLSearchParams(String(text)))),
    );
    // RFC 8058 lets mail services choose.
    app.addContentTypeParser(
      'multipart/form-data',
      { parseAs: 'string', bodyLimit: LIMITS.unsubscribeBodyBytes },
      (_request, text, done) => done(null, fieldsOf(String(text))),
    );

    app.get(
      '/u/:token',
      { config, schema: { operation: showUnsubscribePage, params }, onRequest: findSubscriber },
      async (request, reply) => sendPage(request, reply, 'ask'),
    );

    app.post(
      '/u/:token',
      {
        config: { ...config, wanted: 'to unsubscribe, post the form List-Unsubscribe=One-Click' },
        schema: { operation: unsubscribeByLink, params, body: unsubscribeBody },
        bodyLimit: LIMITS.unsubscribeBodyBytes,
        onRequest: findSubscriber,
      },
      async (request, reply) => {
        const unsubscribed = await carryOut(request.body, request.subscriber);
        if (prefersPage(request)) return sendPage(request, reply, unsubscribed ? 'done' : 'undone');
        return answer(200, unsubscribed ? 'Unsubscribed' : 'Subscribed again', { unsubscribed });
      },
    );
  };
}

const HEADERS = {
  'cache-control': 'no-store',
  'x-robots-tag': 'noindex, nofollow',
  'referrer-policy': 'no-referrer',
  vary: 'accept, accept-language',
};

const tooMany = (retryAfterSeconds: number) =>
  new DomainError('too_many_attempts', 'Too many tries; wait and try again', { retryAfterSeconds });

/** A person gets a page, a program the error. */
function refuse(request: FastifyRequest, reply: FastifyReply, page: UnsubscribePage, error: DomainError) {
  if (!prefersPage(request)) throw error;
  if (error.retryAfterSeconds !== undefined) reply.header('retry-after', error.retryAfterSeconds);
  return sendPage(request, reply.code(page === 'busy' ? 429 : 404), page);
}

const prefersPage = ({ headers }: FastifyRequest): boolean => /\btext\/html\b/i.test(headers.accept ?? '');

function sendPage({ headers }: FastifyRequest, reply: FastifyReply, page: UnsubscribePage): FastifyReply {
  const language = preferredLanguage(headers['accept-language']);
  return reply
    .type('text/html; charset=utf-8')
    .header('content-language', language)
    .header('content-security-policy', UNSUBSCRIBE_POLICY)
    .header('x-content-type-options', 'nosniff')
    .send(unsubscribePage(page, language));
}

/** Short fields by name; nothing else is sent here. */
function fieldsOf(body: string): Record<string, string> {
  const fields: Record<string, string> = {};
  for (const [, name, value] of body.matchAll(
    /\bname="?([\w-]+)"?[^\r\n]*\r?\n(?:[^\r\n]+\r?\n)*\r?\n([^\r\n]*)/gi,
  )) {
    if (name !== undefined) fields[name] = value ?? '';
  }
  return fields;
}

const html = z.string().regex(/^<!doctype html>/i);
const page = (title: string) => ({
  'text/html': { schema: html, example: `<!doctype html><title>${title}</title>` },
});

const showUnsubscribePage: Operation = {
  id: 'showUnsubscribePage',
  access: OPEN,
  tag: 'Suppression',
  summary: 'Show the page behind a link in a mail',
  description:
    'A page with a button, for people; it works without scripts. Reading it, however often, changes nothing.',
  parameters: { token: EXAMPLE.unsubscribeToken },
  answers: { 200: { description: 'The page.', content: page('Unsubscribe?') } },
  errors: ['not_found', 'too_many_attempts', 'dependency_down'],
};

const unsubscribeByLink: Operation = {
  id: 'unsubscribeByLink',
  access: OPEN,
  tag: 'Suppression',
  summary: 'Unsubscribe by the link in a mail',
  description:
    'One-click unsubscribing (RFC 8058), for the mail program or its service: no cookie, no redirection, and repeating it is harmless. From then on the workspace sends no email to the address, from any sender. With `action=resubscribe`, which is what the page offers afterwards, that block is lifted again, and no other; `unsubscribed` stays true where another one keeps mail from the address.',
  parameters: { token: EXAMPLE.unsubscribeToken },
  body: {
    content: {
      'application/json': {
        schema: unsubscribeBody,
        examples: { oneClick: { 'List-Unsubscribe': 'One-Click' } },
      },
      'application/x-www-form-urlencoded': {
        schema: unsubscribeBody,
        examples: {
          oneClick: { 'List-Unsubscribe': 'One-Click' },
          resubscribe: { action: 'resubscribe' },
        },
      },
    },
  },
  answers: {
    200: {
      description: 'Done: as a page for who accepts HTML.',
      content: {
        'application/json': {
          schema: linkAnswer,
          example: answered(200, 'Unsubscribed', { unsubscribed: true }),
        },
        ...page('You are unsubscribed'),
      },
    },
  },
  errors: ['not_found', 'too_many_attempts', 'dependency_down'],
};

/**
 * Counts events by key, in this process alone. It keeps one caller from taking up the others' time, and
 * protects no secret. It never throws, and drops the oldest keys when there are too many.
 */
interface RateWindow {
  /** Seconds to wait, or 0 when this call may proceed. */
  take(key: string): number;
}

const WINDOW_MS = 60_000;

function createRateWindow(perMinute: number): RateWindow {
  const counts = new BoundedCache<{ sinceMs: number; count: number }>(LIMITS.rateWindowKeys);

  return {
    take(key) {
      const nowMs = Date.now();
      const known = counts.get(key);
      if (!known || nowMs - known.sinceMs >= WINDOW_MS) {
        counts.set(key, { sinceMs: nowMs, count: 1 });
        return 0;
      }
      known.count += 1;
      return known.count > perMinute ? Math.ceil((known.sinceMs + WINDOW_MS - nowMs) / 1_000) : 0;
    },
  };
}
