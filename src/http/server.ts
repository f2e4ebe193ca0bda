import { randomUUID } from 'node:crypto';
import type { IncomingMessage, Server } from 'node:http';
import fastify, { type FastifyReply, type FastifyRequest } from 'fastify';
import type { AuditLog } from '../audit/audit-log';
import { LIMITS } from '../domain/limits';
import type { Foreground } from '../foreground';
import type { Log } from '../log';
import type { Idempotency } from '../messaging/idempotency';
import type { OwnRequests } from '../own-requests';
import { docsRoutes } from './docs';
import { auditCalls } from './request/audit-calls';
import { checkCallers } from './request/auth';
import type { Authenticator } from './request/caller';
import { acceptIdempotencyKeys } from './request/idempotency';
import { parseJsonBodies } from './request/json-body';
import { logRefusals, observeRequests, type RequestObserver } from './request/observer';
import { answerClientError, answerErrors, sendProblem } from './request/problem';
import { boundRequests, type RequestBounds, refuseSlowBodies } from './request/request-bounds';
import type { App } from './request/routing';
import { answerUnknownPaths, rememberRoutes } from './request/routing';
import { type RequestTraces, traceRequests } from './request/traced-requests';
import { validateWithZod } from './request/validation';
import { maskForViewers } from './request/viewers';
import { createLoopback, isHttps, type KeyPair, tlsOptions } from './tls';

export interface ServerDeps {
  authenticator: Authenticator;
  log: Log;
  /** Without it, no route handles an Idempotency-Key. */
  idempotency?: Idempotency | undefined;
  /** Without it, calls are not audited. */
  audit?: AuditLog | undefined;
  /** The address that browsers use, if it differs from the one we listen on. */
  publicUrl?: string | undefined;
  /** With it the server speaks https, and `app.loopback` the same without, for callers of this machine. */
  tls?: KeyPair | undefined;
  /** Proxies whose X-Forwarded-For is trusted: addresses, or their number. */
  trustProxy?: string[] | number | undefined;
  /** Called for every request. */
  observe?: RequestObserver | undefined;
  /** Without it, requests are not traced. */
  traces?: RequestTraces | undefined;
  /** Bounds on the requests of each workspace. Without them, requests are not bounded. */
  requestBounds?: RequestBounds | undefined;
  /** What those requests have priority over. */
  foreground?: Foreground | undefined;
  own?: OwnRequests | undefined;
  /** How long a body that is read as a whole may take; default `LIMITS.httpBodyMs`. */
  bodyWithinMs?: number | undefined;
  /** Each in its own scope, so that what one adds, such as a content type, does not apply to the others. */
  routes: ((app: App) => void | Promise<void>)[];
}

/** The HTTP server, ready for `listen`. `close` lets requests in progress finish for a few seconds. */
export async function buildServer(deps: ServerDeps): Promise<App> {
  const { authenticator, log, publicUrl, tls, routes } = deps;
  const safe = safeHeaders(tls !== undefined || isHttps(publicUrl));
  const app: App = fastify({
    ...(tls ? { https: tlsOptions(tls) } : {}),
    trustProxy: trusted(deps.trustProxy),
    // Requests are not logged, because at thousands a second that costs a third of the throughput.
    logger: false,
    bodyLimit: LIMITS.jsonBodyBytes,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LIMITS.pathParamChars },
    genReqId: requestId,
    requestTimeout: LIMITS.httpRequestTimeoutMs,
    connectionTimeout: LIMITS.httpIdleTimeoutMs,
    http: { headersTimeout: LIMITS.httpHeadersTimeoutMs },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    clientErrorHandler: answerClientError,
    frameworkErrors: (error, request, reply) => {
      // No hook runs for a path that cannot be decoded.
      reply.headers({ ...safe, 'x-request-id': request.id, 'cache-control': 'no-store' });
      sendProblem(error, request, reply, log);
    },
  });
  app.setValidatorCompiler(validateWithZod);
  keepConnections(app);
  setHeaders(app, safe);
  if (deps.observe) observeRequests(app, deps.observe);
  logRefusals(app, log);
  if (deps.traces) traceRequests(app, deps.traces);
  answerErrors(app, log);
  answerUnknownPaths(app);
  const known = rememberRoutes(app);
  checkCallers(app, authenticator, publicUrl);
  maskForViewers(app);
  if (deps.requestBounds) boundRequests(app, deps.requestBounds, deps);
  if (deps.audit) auditCalls(app, deps.audit, authenticator, log);
  if (deps.idempotency) acceptIdempotencyKeys(app, deps.idempotency, log);
  refuseSlowBodies(app, log, deps.bodyWithinMs ?? LIMITS.httpBodyMs);
  parseJsonBodies(app);
  const loopback = tls && createLoopback(app);
  app.decorate('loopback', loopback);
  drainOnClose(app, loopback);
  for (const addRoutes of [...routes, docsRoutes(known)])
    app.register(async (scope) => addRoutes(scope as unknown as App));
  app.server.maxConnections = LIMITS.httpConnections;
  await app.ready();
  return app;
}

declare module 'fastify' {
  interface FastifyInstance {
    /** Not listening yet; `undefined` without TLS. Closing the server closes it. */
    loopback: Server | undefined;
  }
}

/**
 * One timer closes a connection on which nothing moves, between requests as within one, and answers tell of it. Node's own
 * timer for connections that are kept is set and cleared for each request, which took 4 % of the main thread at full rate.
 */
function keepConnections(app: App): void {
  app.server.keepAliveTimeout = 0;
}

const KEEP_ALIVE = `timeout=${LIMITS.httpKeepAliveSeconds}`;

/** Hops are counted from us outwards; the address that is connected to us is hop 0. */
function trusted(proxies: string[] | number | undefined) {
  return typeof proxies === 'number' ? (_address: string, hop: number) => hop < proxies : (proxies ?? false);
}

/** For answers that are no page: if a browser shows one, it runs and loads nothing, and no page frames it. */
const NO_PAGE = "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A year, as browsers' own lists of https sites ask for. */
const HSTS = 'max-age=31536000; includeSubDomains';

/**
 * Headers of every answer (api.md 17). An answer is what its type says and nothing else, is read by our own
 * origin only, and JSON is kept by no cache, because nearly all of it belongs to one caller.
 */
function safeHeaders(https: boolean): Record<string, string> {
  return {
    'x-content-type-options': 'nosniff',
    // Pages replace these two by their own.
    'content-security-policy': NO_PAGE,
    'referrer-policy': 'no-referrer',
    'cross-origin-resource-policy': 'same-origin',
    'cross-origin-opener-policy': 'same-origin',
    ...(https ? { 'strict-transport-security': HSTS } : {}),
  };
}

/** In one hook each, because to pass on to the next one costs a request half a microsecond. */
function setHeaders(app: App, safe: Record<string, string>): void {
  const headers = Object.entries({ 'keep-alive': KEEP_ALIVE, ...safe });
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    for (const [name, value] of headers) reply.header(name, value);
    done();
  });
  app.addHook('onSend', (request, reply, _payload, done) => {
    if (/\bjson\b/.test(String(reply.getHeader('content-type')))) reply.header('cache-control', 'no-store');
    if (reply.statusCode === 413) discardLargeBody(request, reply);
    done();
  });
}

const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

/**
 * A client that still writes cannot read the answer if the connection is closed. Therefore the rest of a body
 * refused for its length is read and discarded, up to a limit.
 */
function discardLargeBody(request: FastifyRequest, reply: FastifyReply): void {
  const announced = Number(request.headers['content-length']);
  if (announced <= LIMITS.httpDiscardedBytes) reply.removeHeader('connection');
}

/**
 * Closing waits for every connection. A keep-alive connection becomes idle after its answer and is closed then.
 * One that is still busy after the drain time is cut, so that closing always ends.
 */
function drainOnClose(app: App, loopback: Server | undefined): void {
  const timers: NodeJS.Timeout[] = [];
  const servers = loopback ? [app.server, loopback] : [app.server];
  const onEach = (action: (server: Server) => void) => () => {
    for (const server of servers) action(server);
  };
  let loopbackClosed: Promise<unknown> | undefined;
  app.addHook('preClose', async () => {
    timers.push(
      setInterval(
        onEach((server) => server.closeIdleConnections()),
        50,
      ),
    );
    timers.push(
      setTimeout(
        onEach((server) => server.closeAllConnections()),
        LIMITS.httpDrainMs,
      ),
    );
    if (loopback) loopbackClosed = new Promise((done) => loopback.close(done));
  });
  app.addHook('onClose', async () => {
    await loopbackClosed;
    for (const timer of timers) clearTimeout(timer);
  });
}
