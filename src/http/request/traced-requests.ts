import type { IncomingHttpHeaders } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { App } from './routing';

/** Where requests belong in traces, if they are traced (src/tracing). */
export interface RequestTraces {
  begin(request: { method: string; headers: IncomingHttpHeaders }): RequestTrace;
}

export interface RequestTrace {
  /** Runs `work` so that everything it starts belongs to the trace of the request. */
  run(work: () => void): void;
  /** `route` is the pattern, if there is a route. */
  end(route: string | undefined, status: number): void;
}

/** Not traced, because probes and scrapers come every few seconds and lead nowhere. */
const UNTRACED = new Set(['/healthz', '/readyz', '/metrics']);

export function traceRequests(app: App, traces: RequestTraces): void {
  const begun = new WeakMap<FastifyRequest, RequestTrace>();
  app.addHook('onRequest', (request, _reply, done) => {
    if (UNTRACED.has(request.routeOptions.url ?? '')) return done();
    const { method, headers } = request;
    const one = traces.begin({ method, headers });
    begun.set(request as FastifyRequest, one);
    return one.run(done);
  });
  // Entered again, because the body was read on behalf of the connection, which belongs to no request.
  app.addHook('preValidation', (request, _reply, done) => {
    const one = begun.get(request as FastifyRequest);
    if (one) one.run(done);
    else done();
  });
  app.addHook('onResponse', (request, reply, done) => {
    begun.get(request as FastifyRequest)?.end(request.routeOptions.url, reply.statusCode);
    done();
  });
}
