import { type Dispatcher, Pool } from 'undici';
import { DomainError, retryClassOf } from '../domain/errors';
import { LIMITS } from '../domain/limits';

export interface HttpAnswer {
  status: number;
  headers: Record<string, string | string[] | undefined>;
  body: unknown;
}

/**
 * A request without an answer. `offered` false: it certainly never reached the service; true: it may have been
 * accepted.
 */
export class NoAnswer extends Error {
  constructor(
    readonly offered: boolean,
    cause: unknown,
  ) {
    super(offered ? 'The request was sent and no answer came' : 'The service could not be reached', {
      cause,
    });
    this.name = 'NoAnswer';
  }
}

export interface Transport {
  request(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    /** `body` is JSON text already; `timeoutMs` holds from the first byte of the request to the last of the answer. */
    options: { headers?: Readonly<Record<string, string>>; body?: string; timeoutMs?: number },
  ): Promise<HttpAnswer>;
  close(): Promise<void>;
}

/**
 * Opens a pool of at most this many connections. A request has a timer and no abort signal, because a signal costs
 * a third of the throughput. Pipelining is unsafe for POST. Answers are short, so they are collected as
 * they arrive. A stream for each would cost as much as the rest of the request.
 */
export function openTransport(baseUrl: string, connections: number): Transport {
  const url = new URL(baseUrl);
  const prefix = url.pathname.replace(/\/+$/, '');
  const pool = new Pool(url.origin, {
    connections,
    pipelining: 1,
    connect: { timeout: 5_000 },
    headersTimeout: LIMITS.gatewayTimeoutMs,
    bodyTimeout: LIMITS.gatewayTimeoutMs,
  });
  return {
    request(method, path, { headers, body, timeoutMs }) {
      return new Promise((resolve, reject) => {
        const request = {
          method,
          path: prefix + path,
          headers: body === undefined ? headers : headersWithBody(headers),
          body: body ?? null,
          ...(timeoutMs ? { headersTimeout: timeoutMs } : undefined),
        };
        try {
          pool.dispatch(request, new Gathering(timeoutMs ?? LIMITS.gatewayTimeoutMs, resolve, reject));
        } catch (error) {
          reject(new NoAnswer(false, error));
        }
      });
    },
    close: () => pool.close(),
  };
}

const NONE = {};
const ofBodies = new WeakMap<object, string[]>();

/** Names and values in turn, made once for all requests that share these headers: 2 µs of 28 for each. */
function headersWithBody(headers: Readonly<Record<string, string>> = NONE): string[] {
  const known = ofBodies.get(headers);
  if (known) return known;
  const made = Object.entries({ ...headers, 'content-type': 'application/json' }).flat();
  ofBodies.set(headers, made);
  return made;
}

/** Collects one answer as it arrives. */
class Gathering implements Dispatcher.DispatchHandler {
  private written = false;
  private status = 0;
  private headers: HttpAnswer['headers'] = {};
  private readonly chunks: Buffer[] = [];
  private bytes = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly timeoutMs: number,
    private readonly resolve: (answer: HttpAnswer) => void,
    private readonly reject: (error: NoAnswer) => void,
  ) {}

  /** The connection is open, with TLS if asked for, and the request is being written. */
  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.written = true;
    // The pool's timeouts begin anew with each piece of a body and each informational answer (1xx).
    this.timer = setTimeout(() => controller.abort(new Error('The answer takes too long')), this.timeoutMs);
  }

  onResponseStart(_controller: unknown, status: number, headers: HttpAnswer['headers']): void {
    this.status = status;
    this.headers = headers;
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.bytes += chunk.length;
    if (this.bytes > LIMITS.gatewayAnswerBytes) controller.abort(new Error('The answer has no end'));
    else this.chunks.push(chunk);
  }

  onResponseEnd(): void {
    clearTimeout(this.timer);
    const [only] = this.chunks;
    const whole = this.chunks.length === 1 && only ? only : Buffer.concat(this.chunks);
    const text = whole.toString('utf8');
    this.resolve({ status: this.status, headers: this.headers, body: parseJson(text) });
  }

  onResponseError(_controller: unknown, error: Error): void {
    clearTimeout(this.timer);
    this.reject(new NoAnswer(this.written, error));
  }
}

function parseJson(text: string): unknown {
  if (text === '') return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Otherwise a service with another clock, whose date is past, would be asked without a pause. */
const RETRY_LEAST_MS = 1_000;

/** Seconds or a date (RFC 9110 10.2.3), as milliseconds from now; `fallbackMs` when absent or unreadable. */
export function retryAfterMs(answer: HttpAnswer, fallbackMs: number): number {
  const value = answer.headers['retry-after'];
  if (typeof value !== 'string') return fallbackMs;
  const seconds = Number(value);
  const ms = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(value) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, RETRY_LEAST_MS), 3_600_000) : fallbackMs;
}

/** The error for a refused call to the service, for callers that are not sending a message. */
export function refusal(what: string, answer: HttpAnswer): DomainError {
  const code =
    answer.status === 401 || answer.status === 403
      ? 'unauthenticated'
      : answer.status === 429 || answer.status >= 500
        ? 'dependency_down'
        : 'invalid_request';
  return new DomainError(code, `The messaging service answered ${answer.status} to ${what}`);
}

/** After a pause this long it counts as a new problem, and its first answer proves nothing. */
const APART_MS = 60_000;
/** Statuses that say that this address does not handle such a request; a redirect says so too. */
const NOT_HERE: ReadonlySet<number> = new Set([404, 405, 415, 421, 426]);

/** Whether the answer seems not to come from a messaging service, so that it says nothing about the message. */
export function isUnexpected({ status, body }: HttpAnswer): boolean {
  if (retryClassOf((body as { code?: string } | undefined)?.code) === 'account') return false;
  return (status >= 300 && status < 400) || NOT_HERE.has(status);
}

/**
 * Measures how long an address has given only unexpected answers. A proxy gives some while the service behind
 * it restarts, and these are waited out. A wrong URL gives them for ever, and an operator must know.
 */
export class UnexpectedResponses {
  private since = 0;
  private last = Number.NEGATIVE_INFINITY;

  /** Counts one more of them; returns whether an operator must know by now. */
  note(now = Date.now()): boolean {
    if (now - this.last > APART_MS) this.since = now;
    this.last = now;
    return now - this.since >= LIMITS.strangeServiceMs;
  }

  /** The service itself has answered. */
  over(): void {
    this.last = Number.NEGATIVE_INFINITY;
  }
}
