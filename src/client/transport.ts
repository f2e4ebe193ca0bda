import { setTimeout as delay } from 'node:timers/promises';
import { type Access, createAccess } from './access';
import { FanfareError, refusal } from './fanfare-error';

export interface TransportOptions {
  /** Where the instance is; parts of it may be elsewhere. */
  baseUrl: string;
  authUrl?: string;
  sendUrl?: string;
  clientId: string;
  clientSecret: string;
  /** For sending and tracking single messages. */
  apiKey?: string;
  /** How often a call is repeated that failed for the moment. Default 5. */
  retries?: number;
  /** For one try. Default a minute; an import is given ten. */
  timeoutMs?: number;
}

export interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  base?: 'app' | 'send';
  /** Sent as JSON. */
  json?: unknown;
  /** Made anew for every try. One that cannot be is for one try. */
  text?: { type: string; open: () => string | AsyncIterable<string | Uint8Array>; once: boolean };
  headers?: Record<string, string>;
  timeoutMs?: number;
  signal?: AbortSignal | undefined;
}

const RETRIES = 5;
const FIRST_DELAY_MS = 250;
const LAST_DELAY_MS = 10_000;
/** A server that wants to be left alone for longer is left to the caller. */
const PATIENCE_MS = 60_000;
const TIMEOUT_MS = 60_000;

/**
 * Calls with a token, repeated when they fail for the moment. Every call of this client may be repeated: what
 * creates something carries a key or a uid that stays the same for all its tries.
 */
export class Transport {
  private readonly access: Access;
  private readonly urls: Record<'app' | 'send', string>;

  constructor(private readonly options: TransportOptions) {
    const baseUrl = withoutSlash(options.baseUrl);
    this.urls = { app: baseUrl, send: withoutSlash(options.sendUrl ?? baseUrl) };
    this.access = createAccess({
      ...options,
      authUrl: withoutSlash(options.authUrl ?? baseUrl),
      call: (url, init) => this.fetch(url, init, this.options.timeoutMs ?? TIMEOUT_MS, undefined),
    });
  }

  /** The JSON of a success. */
  async json<T>(call: Call): Promise<T> {
    return this.repeated(call, async () => (await (await this.once(call)).json()) as T);
  }

  /** One answer to be read as it comes, tried once; with the stream's own rules for trying again. */
  async stream(call: Call): Promise<Response> {
    return this.once(call);
  }

  private async repeated<T>(call: Call, work: () => Promise<T>): Promise<T> {
    const retries = call.text?.once ? 0 : (this.options.retries ?? RETRIES);
    for (let failed = 0; ; failed++) {
      try {
        return await work();
      } catch (error) {
        call.signal?.throwIfAborted();
        const waitMs = failed < retries ? retryDelay(error, failed) : undefined;
        if (waitMs === undefined) throw error;
        await delay(waitMs, undefined, call.signal ? { signal: call.signal } : {});
      }
    }
  }

  /** With the token at hand, and once more with a new one if it is refused. */
  private async once(call: Call): Promise<Response> {
    for (let attempt = 1; ; attempt++) {
      const token = await this.access.token();
      const answer = await this.send(call, token);
      if (answer.status < 300) return answer;
      if (answer.status !== 401 || attempt > 1 || call.text?.once) {
        throw await refusal(`${call.method} ${call.path.split('?')[0]}`, answer);
      }
      await answer.body?.cancel();
      this.access.refused(token);
    }
  }

  private send(call: Call, token: string): Promise<Response> {
    const base = call.base ?? 'app';
    const headers: Record<string, string> = { ...call.headers, authorization: `Bearer ${token}` };
    if (base === 'send') {
      if (this.options.apiKey === undefined) {
        throw new TypeError('Single messages need the `apiKey` of the workspace');
      }
      headers['x-api-key'] = this.options.apiKey;
    }
    const init: RequestInit & { duplex?: 'half' } = { method: call.method, headers };
    if (call.json !== undefined) {
      headers['content-type'] = 'application/json';
      init.body = JSON.stringify(call.json);
    } else if (call.text) {
      headers['content-type'] = call.text.type;
      init.body = call.text.open() as NonNullable<RequestInit['body']>;
      init.duplex = 'half';
    }
    const timeoutMs = call.timeoutMs ?? this.options.timeoutMs ?? TIMEOUT_MS;
    return this.fetch(this.urls[base] + call.path, init, timeoutMs, call.signal);
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

/** With full jitter, so that what failed together does not come back together; `undefined`: not again. */
function retryDelay(error: unknown, failed: number): number | undefined {
  // An answer that broke off while it was read is no error of ours.
  const isOurs = error instanceof FanfareError;
  if (isOurs && !error.isForTheMoment) return undefined;
  if (!isOurs && !(error instanceof TypeError && error.message === 'terminated')) return undefined;
  const told = isOurs ? error.retryAfterMs : undefined;
  if (told !== undefined && told > PATIENCE_MS) return undefined;
  const most = Math.min(FIRST_DELAY_MS * 2 ** failed, LAST_DELAY_MS);
  return (told ?? 0) + Math.random() * most;
}

const withoutSlash = (url: string): string => url.replace(/\/+$/, '');
