import type { FastifyReply, FastifyRequest } from 'fastify';
import { DomainError } from '../../domain/errors';
import type { Log } from '../../log';
import { sendProblem } from './problem';
import type { App } from './routing';

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
