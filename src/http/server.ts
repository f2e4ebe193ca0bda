import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import fastify from 'fastify';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import { checkCallers } from './auth';
import type { Authenticator } from './caller';
import { parseJsonBodies } from './json-body';
import { answerUnknownPaths } from './known-paths';
import { answerErrors, sendProblem } from './problem';
import type { App } from './routing';
import { validateWithZod } from './validation';

export interface ServerDeps {
  authenticator: Authenticator;
  log: Log;
  /** Where browsers reach us, if that is not the address we listen on. */
  publicUrl?: string | undefined;
  /** Each in a scope of its own: what one adds, such as a content type, the others do not get. */
  routes: ((app: App) => void | Promise<void>)[];
}

/** The HTTP server, ready for `listen`. `close` lets requests in progress finish for a few seconds. */
export async function buildServer({ authenticator, log, publicUrl, routes }: ServerDeps): Promise<App> {
  const app: App = fastify({
    // Requests are not logged: at thousands a second that costs a third of the throughput.
    logger: false,
    bodyLimit: LIMITS.jsonBodyBytes,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: LIMITS.pathParamChars },
    genReqId: requestId,
    requestTimeout: LIMITS.httpRequestTimeoutMs,
    connectionTimeout: LIMITS.httpIdleTimeoutMs,
    http: { headersTimeout: LIMITS.httpHeadersTimeoutMs },
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    frameworkErrors: (error, request, reply) => {
      reply.header('x-request-id', request.id);
      sendProblem(error, request, reply, log);
    },
  });
  app.setValidatorCompiler(validateWithZod);
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id);
    done();
  });
  answerErrors(app, log);
  answerUnknownPaths(app);
  checkCallers(app, authenticator, publicUrl);
  parseJsonBodies(app);
  drainOnClose(app);
  for (const addRoutes of routes) app.register(async (scope) => addRoutes(scope as unknown as App));
  await app.ready();
  return app;
}

const SANE_REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

function requestId(request: IncomingMessage): string {
  const given = request.headers['x-request-id'];
  return typeof given === 'string' && SANE_REQUEST_ID.test(given) ? given : randomUUID();
}

/**
 * Closing waits for every connection. One that keeps alive falls idle after its answer and is dropped
 * then; one still busy after the drain time is cut, so that closing ends whatever clients do.
 */
function drainOnClose(app: App): void {
  const timers: NodeJS.Timeout[] = [];
  app.addHook('preClose', async () => {
    timers.push(setInterval(() => app.server.closeIdleConnections(), 50));
    timers.push(setTimeout(() => app.server.closeAllConnections(), LIMITS.httpDrainMs));
  });
  app.addHook('onClose', async () => {
    for (const timer of timers) clearTimeout(timer);
  });
}
