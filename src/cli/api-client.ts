import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { Pool } from 'undici';
import { z } from 'zod';
import { StartupError } from '../startup-error';

/** Long enough for an instance that restarts its Temporal server or digests an import. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 500;
const TIMEOUT_MS = 60_000;

export type ApiClientOptions = {
  baseUrl: string;
  signal?: AbortSignal | undefined;
} & Access;

/** A backend's client, or for what a backend may not do a user: by log-in, or by the cookie of one. */
export type Access =
  | { client: { id: string; secret: string } }
  | { user: { email: string; password: string } }
  | { sessionCookie: string };

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
  method: 'GET' | 'POST' | 'DELETE';
  path: string;
  body?: string | Buffer;
  contentType?: string;
  /** The same for every try of one call. */
  idempotencyKey?: string;
}

type Proof = Record<string, string>;

interface Answer {
  content: unknown;
  headers: Record<string, string | string[] | undefined>;
}

const problem = z.object({ code: z.string(), detail: z.string().optional(), message: z.string().optional() });
const token = z.object({ access_token: z.string() });

/**
 * The public HTTP API as any other program uses it: credentials for a token or a session, and then that. A
 * request that finds the instance busy or away for the moment is repeated for a minute, under one
 * Idempotency-Key, so that what it creates is created once. A command that is run again is another call.
 */
export function createApiClient({ baseUrl, signal, ...access }: ApiClientOptions): ApiClient {
  const { origin, pathname } = new URL(baseUrl);
  const prefix = pathname.replace(/\/+$/, '');
  const pool = new Pool(origin, { connections: 2, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  let proof: Proof | undefined;
  let hasAnswered = false;

  async function request<T>(call: Call, schema: z.ZodType<T>): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    let isFreshProof = proof === undefined;
    for (;;) {
      let waitMs = 0;
      try {
        proof ??= await authorize();
        return schema.parse((await send(call, proof)).content);
      } catch (error) {
        const isStaleProof = error instanceof ApiRefusal && error.status === 401 && !isFreshProof;
        if (isStaleProof) {
          proof = undefined;
          isFreshProof = true;
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

  async function authorize(): Promise<Proof> {
    if ('sessionCookie' in access) return { cookie: `session_token=${access.sessionCookie}` };
    if ('user' in access) {
      const body = JSON.stringify({ email: access.user.email, password: access.user.password });
      const { headers } = await send({ method: 'POST', path: '/api/session', body }, {});
      return { cookie: String(headers['set-cookie']).split(';')[0] as string };
    }
    const basic = Buffer.from(`${access.client.id}:${access.client.secret}`).toString('base64');
    const call: Call = {
      method: 'POST',
      path: '/api/v1/auth/token',
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    };
    const { content } = await send(call, { authorization: `Basic ${basic}` });
    return { authorization: `Bearer ${token.parse(content).access_token}` };
  }

  /** Leaves no session behind that lasts for days. Failing, it ends by itself. */
  async function logOut(): Promise<void> {
    if (!('user' in access) || !proof) return;
    await send({ method: 'DELETE', path: '/api/session' }, proof).catch(() => undefined);
  }

  async function send(call: Call, headers: Proof): Promise<Answer> {
    const answer = await pool.request({
      method: call.method,
      path: prefix + call.path,
      headers: {
        ...headers,
        ...(call.body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
        ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
      },
      body: call.body ?? null,
      signal: signal ?? null,
    });
    hasAnswered = true;
    const content = jsonOrUndefined(await answer.body.text());
    if (answer.statusCode < 300) return { content, headers: answer.headers };
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
    post: (path, body, schema) =>
      request({ method: 'POST', path, body: JSON.stringify(body), idempotencyKey: randomUUID() }, schema),
    postFile: async (path, file, contentType, schema) =>
      request({ method: 'POST', path, body: await readFile(file), contentType }, schema),
    async close() {
      await logOut();
      await pool.destroy();
    },
  };
}

/** An instance that has answered before comes back; one that never has is not running. */
function nothingThere(baseUrl: string, cause: unknown): StartupError {
  return new StartupError(
    `Nothing answers at ${baseUrl}: ${(cause as Error).message}`,
    'Start an instance with `fanfare up`, or correct the address in credentials.json or FANFARE_APP_URL.',
    { cause },
  );
}

function isForTheMoment(error: unknown): boolean {
  if (error instanceof ApiRefusal) {
    return error.status === 429 || error.status === 503 || error.code === 'idempotency_in_progress';
  }
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
