import { setTimeout as delay } from 'node:timers/promises';
import { type Access, type Ask, type Proof, tokenAccess } from './access';
import { FanfareError, refusal } from './fanfare-error';

export interface ClientOptions extends TransportOptions {
  authUrl?: string;
  clientId: string;
  clientSecret: string;
}

export interface TransportOptions {
  /** Where the instance is; parts of it may be elsewhere. */
  baseUrl: string;
  sendUrl?: string;
  /** For sending and tracking single messages. */
  apiKey?: string;
  /** How often a call is repeated that failed for the moment. Default 5. */
  retries?: number;
  /** For one try. Default a minute; an import is given ten. */
  timeoutMs?: number;
}

export interface Call {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  path: string;
  base?: 'app' | 'send';
  /** Sent as JSON. */
  json?: unknown;
  /** Opened again for every attempt. With `once` there is one attempt, because it cannot be opened again. */
  text?: { type: string; open: () => string | AsyncIterable<string | Uint8Array>; once: boolean };
  headers?: Record<string, string>;
  timeoutMs?: number;
  /** Instead of the transport's own number. */
  retries?: number;
  /** No try begins later than this after the first, for a call whose single try may take long. */
  triesWithinMs?: number;
  signal?: AbortSignal | undefined;
}

const RETRIES = 5;
const FIRST_DELAY_MS = 250;
const LAST_DELAY_MS = 10_000;
/** A server that wants to be left alone for longer is left to the caller. */
const PATIENCE_MS = 60_000;
const TIMEOUT_MS = 60_000;
/**
 * A process that is killed in the middle of a call holds the call's key for a minute. A caller that gave up before would
 * make another call of it, with another key, and the server could not know that both are one.
 */
const IN_PROGRESS_MS = 75_000;

/**
 * Calls with a proof of who calls, repeated when they fail for the moment. Every call that is made with it may
 * be repeated: what creates something carries a key or a uid that stays the same for all its tries.
 */
export class Transport {
  private readonly access: Access;
  private readonly urls: Record<'app' | 'send', string>;

  constructor(
    private readonly options: TransportOptions,
    accessWith: (ask: Ask) => Access,
  ) {
    const baseUrl = addressOf('baseUrl', options.baseUrl);
    this.urls = { app: baseUrl, send: addressOf('sendUrl', options.sendUrl ?? baseUrl) };
    this.access = accessWith((url, init) =>
      this.fetch(url, init, this.options.timeoutMs ?? TIMEOUT_MS, undefined),
    );
  }

  /** The JSON of a success. */
  async json<T>(call: Call): Promise<T> {
    return this.read(call, async (answer) => (await answer.json()) as T);
  }

  /** Reads a successful answer with `take`. If the reading breaks off, the call is tried again. */
  async read<T>(call: Call, take: (answer: Response) => Promise<T>): Promise<T> {
    return this.repeated(call, async () => {
      try {
        return await take(await this.once(call));
      } catch (error) {
        throw this.brokenOff(call, error) ?? error;
      }
    });
  }

  /** A file as it comes, tried once, because what was read of it is with the caller. */
  async *bytes(call: Call): AsyncGenerator<Uint8Array, void, undefined> {
    const { body } = await this.stream(call);
    try {
      if (body) yield* body as AsyncIterable<Uint8Array>;
    } catch (error) {
      throw this.brokenOff(call, error) ?? error;
    }
  }

  /** One answer to be read as it comes, tried once; with the stream's own rules for trying again. */
  async stream(call: Call): Promise<Response> {
    return this.once(call);
  }

  private brokenOff({ base = 'app' }: Call, cause: unknown): FanfareError | undefined {
    if (!isBrokenOff(cause)) return undefined;
    const message = `${new URL(this.urls[base]).origin} broke off its answer`;
    return new FanfareError(message, { code: 'connection_lost', status: 0, cause });
  }

  private async repeated<T>(call: Call, work: () => Promise<T>): Promise<T> {
    const retries = call.text?.once ? 0 : (call.retries ?? this.options.retries ?? RETRIES);
    const startedAt = Date.now();
    for (let failed = 0; ; failed++) {
      try {
        return await work();
      } catch (error) {
        call.signal?.throwIfAborted();
        if (retries > 0 && isInProgress(error) && Date.now() - startedAt < IN_PROGRESS_MS) failed--;
        const isLate = Date.now() - startedAt > (call.triesWithinMs ?? Number.POSITIVE_INFINITY);
        const waitMs = failed < retries && !isLate ? retryDelay(error, failed) : undefined;
        if (waitMs === undefined) throw error;
        await delay(waitMs, undefined, call.signal ? { signal: call.signal } : {});
      }
    }
  }

  /** With the proof at hand, and once more with a new one if it is refused. */
  private async once(call: Call): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const proof = await withSignal(this.access.proof(), call.signal);
      const answer = await this.send(call, proof);
      if (answer.status < 300) return answer;
      if (answer.status === 401) this.access.refused(proof);
      if (answer.status !== 401 || attempt > 1 || call.text?.once) {
        throw await refusal(`${call.method} ${call.path.split('?')[0]}`, answer);
      }
      await answer.body?.cancel();
    }
  }

  private async send(call: Call, proof: Proof): Promise<Response> {
    const base = call.base ?? 'app';
    const headers: Record<string, string> = { ...call.headers, ...proof };
    if (base === 'send') {
      if (this.options.apiKey === undefined) {
        throw new TypeError('Single messages need the `apiKey` of the workspace');
      }
      headers['x-api-key'] = this.options.apiKey;
    }
    const init: RequestInit & { duplex?: 'half' } = { method: call.method, headers };
    let source: Source | undefined;
    if (call.json !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(call.json);
    } else if (call.text) {
      headers['content-type'] = call.text.type;
      const text = call.text.open();
      if (typeof text !== 'string') source = new Source(text);
      init.body = (source?.read() ?? text) as NonNullable<RequestInit['body']>;
      init.duplex = 'half';
    }
    const timeoutMs = call.timeoutMs ?? this.options.timeoutMs ?? TIMEOUT_MS;
    try {
      return await this.fetch(this.urls[base] + call.path, init, timeoutMs, call.signal);
    } catch (error) {
      throw source?.failure ? source.failure.error : error;
    }
  }

  private async fetch(
    url: string,
    init: RequestInit,
    timeoutMs: number,
    signal: AbortSignal | undefined,
  ): Promise<Response> {
    const signals = [...(signal ? [signal] : []), ...(timeoutMs ? [AbortSignal.timeout(timeoutMs)] : [])];
    try {
      return await fetch(url, signals.length ? { ...init, signal: AbortSignal.any(signals) } : init);
    } catch (error) {
      signal?.throwIfAborted();
      const { origin } = new URL(url);
      throw new FanfareError(`${origin} did not answer`, {
        code: 'connection_lost',
        status: 0,
        cause: error,
      });
    }
  }
}

/** What an upload is read from. If it fails, `fetch` fails with it as if the connection had; this keeps the two apart. */
class Source {
  failure: { error: unknown } | undefined;

  constructor(private readonly chunks: AsyncIterable<string | Uint8Array>) {}

  async *read(): AsyncGenerator<string | Uint8Array, void, undefined> {
    try {
      yield* this.chunks;
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }
}

/** For a program with credentials of its own. */
export function clientTransport(options: ClientOptions): Transport {
  return new Transport(options, (ask) => {
    const authUrl = addressOf('authUrl', options.authUrl ?? options.baseUrl);
    return tokenAccess({ ...options, authUrl }, ask);
  });
}

/** Ends the caller's wait for what other calls wait for as well. */
async function withSignal<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  // If the caller has stopped already, nothing else hears of its failure.
  work.catch(() => undefined);
  signal.throwIfAborted();
  let stop: () => void = () => undefined;
  const stopped = new Promise<never>((_, fail) => {
    stop = () => fail(signal.reason);
  });
  signal.addEventListener('abort', stop, { once: true });
  try {
    return await Promise.race([work, stopped]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

/** While it was read: its connection was lost, or nothing came for as long as one try may take. */
function isBrokenOff(error: unknown): boolean {
  const { name, message } = error as { name?: unknown; message?: unknown };
  return name === 'TimeoutError' || (name === 'TypeError' && message === 'terminated');
}

const isInProgress = (error: unknown): boolean =>
  error instanceof FanfareError && error.code === 'idempotency_in_progress';

/** With full jitter, so that what failed together does not come back together; `undefined`: not again. */
function retryDelay(error: unknown, failed: number): number | undefined {
  if (!(error instanceof FanfareError) || !error.isForTheMoment) return undefined;
  const told = error.retryAfterMs;
  if (told !== undefined && told > PATIENCE_MS) return undefined;
  const most = Math.min(FIRST_DELAY_MS * 2 ** failed, LAST_DELAY_MS);
  return (told ?? 0) + Math.random() * most;
}

/** Without a slash at its end. A variable that is not set, or has no scheme, is found here and not by the first call. */
function addressOf(option: string, url: string): string {
  if (typeof url !== 'string' || !/^https?:\/\/./.test(url) || !URL.canParse(url)) {
    throw new TypeError(
      `${option} must be an address such as https://fanfare.example, and is ${JSON.stringify(url)}`,
    );
  }
  return url.replace(/\/+$/, '');
}
