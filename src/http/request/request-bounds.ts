import type { FastifyReply, FastifyRequest, onRequestHookHandler } from 'fastify';
import { BoundedCache } from '../../domain/bounded-cache';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { Foreground } from '../../foreground';
import type { Log } from '../../log';
import type { OwnRequests } from '../../own-requests';
import { sendProblem } from './problem';
import { type App, addRouteHooks } from './routing';

/**
 * Which bound a route's requests count for.
 *
 * - `requests`  a number a second and a number at once; the default
 * - `streams`   a number at once, because long polls, streams and exports stay open for long and cost little
 * - `imports`   a number at once, because each keeps a connection to the database busy
 * - `sending`   none here: what is sent has bounds of its own (`outbox_full`)
 */
export type Bound = Counted | 'sending';
type Counted = 'requests' | 'streams' | 'imports';

export interface RequestBounds {
  perSecond: number;
  atOnce: number;
}

/**
 * Bounds the requests of each workspace, so that one that floods leaves room for the others (api.md 17). Counted in
 * memory and per process, because a query for each request would cost what the bound saves. What this process asks of its own
 * service is not counted, because a workspace whose requests fill the bound would refuse its own: each of fifty
 * campaigns that are created at once asks for a template.
 */
export function boundRequests(
  app: App,
  bounds: RequestBounds,
  { foreground, own }: { foreground?: Foreground | undefined; own?: OwnRequests | undefined },
): void {
  const workspaces = new BoundedCache<Usage>(LIMITS.rateWindowKeys);
  const most: Record<Counted, number> = {
    requests: bounds.atOnce,
    streams: LIMITS.streamsPerWorkspace,
    imports: LIMITS.importsPerWorkspace,
  };

  const usageOf = (workspaceId: string): Usage => {
    const known = workspaces.get(workspaceId);
    if (known) return known;
    const usage = { left: bounds.perSecond, atMs: performance.now(), requests: 0, streams: 0, imports: 0 };
    workspaces.set(workspaceId, usage);
    return usage;
  };

  app.addHook('onRoute', (route) => {
    const { bound = 'requests' } = route.config ?? {};
    if (bound !== 'sending') addRouteHooks(route, { onRequest: boundOnRequest(bound) });
  });

  const boundOnRequest =
    (ofRoute: Counted): onRequestHookHandler =>
    (request, reply, done) => {
      const { caller } = request;
      if (!caller || own?.includes(request.headers)) return done();
      const bound = boundOf(request, ofRoute);
      const usage = usageOf(caller.workspaceId);
      if (usage[bound] >= most[bound]) {
        return done(tooMany(`${usage[bound]} ${bound} of this workspace are under way; wait for one to end`));
      }
      if (bound === 'requests' && !takeOne(usage, bounds.perSecond)) {
        return done(tooMany(`This workspace makes more than ${bounds.perSecond} requests a second`));
      }
      countWhileOpen(usage, bound, reply);
      const leave = bound === 'requests' ? foreground?.enter() : undefined;
      if (leave) reply.raw.once('close', leave);
      done();
    };
}

/** A table is an import whatever route takes it, because it is stored for as long as it arrives. */
function boundOf({ headers }: FastifyRequest, ofRoute: Counted): Counted {
  return ofRoute === 'requests' && headers['content-type']?.startsWith('text/csv') ? 'imports' : ofRoute;
}

interface Usage extends Record<Counted, number> {
  /** Requests that may be made now: a bucket that a second fills. */
  left: number;
  atMs: number;
}

function takeOne(usage: Usage, perSecond: number): boolean {
  const nowMs = performance.now();
  usage.left = Math.min(perSecond, usage.left + ((nowMs - usage.atMs) / 1_000) * perSecond);
  usage.atMs = nowMs;
  if (usage.left < 1) return false;
  usage.left -= 1;
  return true;
}

/** `close` comes after the answer as well as when the caller has left. */
function countWhileOpen(usage: Usage, bound: Counted, { raw }: FastifyReply): void {
  usage[bound] += 1;
  raw.once('close', () => {
    usage[bound] -= 1;
  });
}

const tooMany = (message: string) => new DomainError('too_many_requests', message, { retryAfterSeconds: 1 });

declare module 'fastify' {
  interface FastifyContextConfig {
    bound?: Bound;
  }
}

/**
 * Refuses slow bodies, because a client that sends a byte a second would hold a socket and a buffer for ever. A
 * body that is read as a whole must arrive within `httpBodyMs`. A body that a route streams, such as an import,
 * has the server's own timeouts. One timer checks all of them, because one per request would cost more than it
 * protects.
 */
export function refuseSlowBodies(app: App, log: Log, withinMs: number): void {
  const arriving = new Map<FastifyRequest, { reply: FastifyReply; sinceMs: number }>();

  app.addHook('preParsing', (request, reply, _payload, done) => {
    arriving.set(request, { reply, sinceMs: Date.now() });
    done();
  });
  app.addHook('preValidation', (request, _reply, done) => {
    arriving.delete(request);
    done();
  });
  app.addHook('onResponse', (request, _reply, done) => {
    arriving.delete(request);
    done();
  });
  app.addHook('onRequestAbort', (request, done) => {
    arriving.delete(request);
    done();
  });

  const timer = setInterval(() => {
    const before = Date.now() - withinMs;
    for (const [request, { reply, sinceMs }] of arriving) {
      if (sinceMs > before) continue;
      arriving.delete(request);
      // The rest of this body must not be read as the next request.
      reply.header('connection', 'close');
      const message = `The body was not there after ${withinMs / 1_000} seconds`;
      sendProblem(new DomainError('request_timeout', message), request, reply, log);
    }
  }, withinMs / 10);
  timer.unref();
  app.addHook('onClose', async () => clearInterval(timer));
}
