import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { z } from 'zod';
import { StartupError } from '../startup-error';

/** Long enough for an instance that restarts its Temporal server or digests an import. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 500;
const TIMEOUT_MS = 60_000;

export interface ApiClientOptions {
  baseUrl: string;
  client: { id: string; secret: string };
  signal?: AbortSignal | undefined;
}

/** An answer that says no; `code` is one of docs/errors.md. */
export class ApiRefusal extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly retryAfterMs: number,
  ) {
    super(message);
    this.name = 'ApiRefusal';
  }
}

export interface ApiClient {
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  /** Sends a file as it is. */
  postFile<T>(path: string, file: string, contentType: string, schema: z.ZodType<T>): Promise<T>;
  close(): Promise<void>;
}

interface Call {
  method: 'GET' | 'POST';
  path: string;
  body?: string | Buffer;
  contentType?: string;
}

const problem = z.object({ code: z.string(), detail: z.string().optional(), message: z.string().optional() });
const token = z.object({ access_token: z.string() });

/**
 * The public HTTP API as any backend uses it: a token by client credentials, then Bearer. A request that
 * finds the instance busy or away for the moment is repeated for a minute; so callers make sure by name
 * that what they create is not there already.
 */
export function createApiClient({ baseUrl, client, signal }: ApiClientOptions): ApiClient {
  const pool = new Pool(baseUrl, { connections: 2, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  let bearer: string | undefined;
  let hasAnswered = false;

  async function request<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    let isFreshBearer = bearer === undefined;
    for (;;) {
      let waitMs = 0;
      try {
        bearer ??= await authorize();
        return schema.parse(await send(call, bearer));
      } catch (error) {
        const isStaleBearer = error instanceof ApiRefusal && error.status === 401 && !isFreshBearer;
        if (isStaleBearer) {
          bearer = undefined;
          isFreshBearer = true;
        } else {
          waitMs = error instanceof ApiRefusal ? error.retryAfterMs : RETRY_MS;
          if (signal?.aborted) throw error;
          if (!hasAnswered && !(error instanceof ApiRefusal)) throw nothingThere(baseUrl, error);
          if (!isForTheMoment(error) || Date.now() + waitMs > deadline) throw error;
        }
      }
      await delay(waitMs, undefined, { signal });
    }
  }

  async function authorize(): Promise<string> {
    const basic = Buffer.from(`${client.id}:${client.secret}`).toString('base64');
    const body = JSON.stringify({ grant_type: 'client_credentials' });
    const answer = await send({ method: 'POST', path: '/api/v1/auth/token', body }, `Basic ${basic}`);
    return `Bearer ${token.parse(answer).access_token}`;
  }

  async function send(call: Call, authorization: string): Promise<unknown> {
    const answer = await pool.request({
      method: call.method,
      path: call.path,
      headers: {
        authorization,
        ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
      },
      body: call.body ?? null,
      signal: signal ?? null,
    });
    hasAnswered = true;
    const content = jsonOrUndefined(await answer.body.text());
    if (answer.statusCode < 300) return content;
    // Without a problem in it, something in between has answered, such as a proxy.
    const said = problem.safeParse(content).data;
    throw new ApiRefusal(
      answer.statusCode,
      said?.code ?? '',
      `${call.method} ${call.path} answered ${answer.statusCode}: ${said?.detail ?? said?.message ?? 'no explanation'}`,
      Number(answer.headers['retry-after']) * 1_000 || RETRY_MS,
    );
  }

  return {
    get: (path, schema) => request({ method: 'GET', path }, schema),
    post: (path, body, schema) => request({ method: 'POST', path, body: JSON.stringify(body) }, schema),
    postFile: async (path, file, contentType, schema) =>
      request({ method: 'POST', path, body: await readFile(file), contentType }, schema),
    close: () => pool.destroy(),
  };
}

/** An instance that has answered before comes back; one that never has is not running. */
function nothingThere(baseUrl: string, cause: unknown): StartupError {
  return new StartupError(
    `Nothing answers at ${baseUrl}: ${(cause as Error).message}`,
    'Start an instance with `fanfare up`, or correct the address in credentials.json.',
    { cause },
  );
}

function isForTheMoment(error: unknown): boolean {
  if (error instanceof ApiRefusal) return error.status === 429 || error.status === 503;
  const code = (error as { code?: unknown }).code;
  return typeof code === 'string' && /^(ECONN|EPIPE|UND_ERR_(SOCKET|CONNECT|HEADERS|BODY))/.test(code);
}

function jsonOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
