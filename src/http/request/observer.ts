import type { App } from './routing';

/** Called for each request once its answer is written; `route` is the pattern, if there is a route. */
export type RequestObserver = (
  method: string,
  route: string | undefined,
  status: number,
  tookMs: number,
) => void;

export function observeRequests(app: App, observe: RequestObserver): void {
  app.addHook('onResponse', (request, reply, done) => {
    observe(request.method, request.routeOptions.url, reply.statusCode, reply.elapsedTime);
    done();
  });
}
