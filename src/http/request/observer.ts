import { LIMITS } from '../../domain/limits';
import type { Log } from '../../log';
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

/**
 * Statuses of calls that validation, a rule of the product or a bound has refused. Calls that were refused for lack of
 * rights are in the audit log, or in the process log where they name no one.
 */
const REFUSED: ReadonlySet<number> = new Set([400, 409, 413, 415, 422, 429]);
const MESSAGE = 'Calls were refused';

interface Refusal {
  method: string;
  route: string;
  status: number;
  /** Null where the caller is not known. */
  workspaceId: string | null;
}

/**
 * Writes into the process log what a caller tried and a control refused (OWASP ASVS 16.3.3): the first of equal refusals at
 * once, with its request's id, and those that follow within a minute as one line with their count. Otherwise a caller
 * that repeats a wrong call would fill the log. No line holds anything of the call itself but its route.
 */
export function logRefusals(app: App, log: Log, windowMs: number = LIMITS.refusalsLoggedMs): void {
  const held = new Map<string, { refusal: Refusal; more: number }>();
  /** Number of refusals that did not fit into `held`. */
  let others = 0;

  app.addHook('onResponse', (request, reply, done) => {
    if (REFUSED.has(reply.statusCode)) note(request.id, refusalOf(request, reply.statusCode));
    done();
  });
  const timer = setInterval(writeCounts, windowMs);
  timer.unref();
  app.addHook('onClose', async () => {
    clearInterval(timer);
    writeCounts();
  });

  function note(requestId: string, refusal: Refusal): void {
    const key = Object.values(refusal).join(' ');
    const known = held.get(key);
    if (known) known.more += 1;
    else if (held.size >= LIMITS.refusalsLoggedHeld) others += 1;
    else {
      held.set(key, { refusal, more: 0 });
      log.info({ ...refusal, requestId, count: 1 }, MESSAGE);
    }
  }

  function writeCounts(): void {
    for (const { refusal, more } of held.values())
      if (more > 0) log.info({ ...refusal, count: more }, MESSAGE);
    if (others > 0) log.info({ route: 'others', count: others }, MESSAGE);
    held.clear();
    others = 0;
  }
}

function refusalOf(
  request: {
    method: string;
    routeOptions: { url?: string | undefined };
    caller?: { workspaceId: string } | undefined;
  },
  status: number,
): Refusal {
  const { method, routeOptions, caller } = request;
  return { method, route: routeOptions.url ?? 'none', status, workspaceId: caller?.workspaceId ?? null };
}
