import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { type Dispatcher, Pool } from 'undici';
import { z } from 'zod';
import { StartupError } from '../startup-error';

/** Long enough for an instance that restarts its Temporal server or digests an import. */
const PATIENCE_MS = 60_000;
const RETRY_MS = 500;
const TIMEOUT_MS = 60_000;
/** An upload is answered when all of it is stored. */
const UPLOAD_TIMEOUT_MS = 600_000;
const PROGRESS_MS = 200;

export type ApiClientOptions = {
  baseUrl: string;
  /** Where tokens come from, if that is elsewhere. */
  authUrl?: string | undefined;
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
  patch<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  /** Sends a file as it is, however long; `onProgress` hears how many bytes have been read. */
  postFile<T>(
    path: string,
    file: string,
    contentType: string,
    schema: z.ZodType<T>,
    onProgress?: (bytes: number) => void,
  ): Promise<T>;
  /** Writes what is answered into a file, which is there when all of it is. */
  getFile(path: string, file: string): Promise<void>;
  close(): Promise<void>;
}

interface Call {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** A stream is opened for every try anew. */
  body?: string | (() => Readable);
  contentType?: string;
  /** The same for every try of one call. */
  idempotencyKey?: string;
}

type Proof = Record<string, string>;

type Answer = Dispatcher.ResponseData;

const problem = z.object({ code: z.string(), detail: z.string().optional(), message: z.string().optional() });
const token = z.object({ access_token: z.string() });
const session = z.object({ user: z.object({ id: z.string() }) });

/**
 * The public HTTP API as any other program uses it: credentials for a token or a session, and then that. A
 * request that finds the instance busy or away for the moment is repeated for a minute, under one
 * Idempotency-Key, so that what it creates is created once. A command that is run again is another call.
 */
export function createApiClient({ baseUrl, authUrl, signal, ...access }: ApiClientOptions): ApiClient {
  const app = reach(baseUrl);
  const auth = authUrl === undefined ? app : reach(authUrl);
  let proof: Proof | undefined;
  let hasAnswered = false;

  async function request<T>(call: Call, take: (answer: Answer) => Promise<T>): Promise<T> {
    const deadline = Date.now() + PATIENCE_MS;
    let isFreshProof = proof === undefined;
    for (;;) {
      let waitMs = 0;
      try {
        proof ??= await authorize();
        return await take(await send(call, proof));
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
    if ('sessionCookie' in access) {
      const cookie = { cookie: `session_token=${access.sessionCookie}` };
      return asUser(cookie, await send({ method: 'GET', path: '/api/session' }, cookie));
    }
    if ('user' in access) {
      const body = JSON.stringify({ email: access.user.email, password: access.user.password });
      const answer = await send({ method: 'POST', path: '/api/session', body }, {});
      return asUser({ cookie: String(answer.headers['set-cookie']).split(';')[0] as string }, answer);
    }
    const basic = Buffer.from(`${access.client.id}:${access.client.secret}`).toString('base64');
    const call: Call = {
      method: 'POST',
      path: '/api/v1/auth/token',
      body: JSON.stringify({ grant_type: 'client_credentials' }),
    };
    const { access_token } = token.parse(
      await jsonOf(await send(call, { authorization: `Basic ${basic}` }, auth)),
    );
    return { authorization: `Bearer ${access_token}` };
  }

  /** Leaves no session behind that lasts for days. Failing, it ends by itself. */
  async function logOut(): Promise<void> {
    if (!('user' in access) || !proof) return;
    await send({ method: 'DELETE', path: '/api/session' }, proof).then(jsonOf, () => undefined);
  }

  async function send(call: Call, headers: Proof, { pool, prefix } = app): Promise<Answer> {
    const body = typeof call.body === 'function' ? call.body() : call.body;
    const answer = await pool.request({
      method: call.method,
      path: prefix + call.path,
      headers: {
        ...headers,
        ...(body === undefined ? {} : { 'content-type': call.contentType ?? 'application/json' }),
        ...(call.idempotencyKey === undefined ? {} : { 'idempotency-key': call.idempotencyKey }),
      },
      body: body ?? null,
      signal: signal ?? null,
      ...(body instanceof Readable ? { headersTimeout: UPLOAD_TIMEOUT_MS } : {}),
    });
    hasAnswered = true;
    if (answer.statusCode < 300) return answer;
    // Without a problem in it, something in between has answered, such as a proxy.
    const said = problem.safeParse(await jsonOf(answer)).data;
    throw new ApiRefusal(
      answer.statusCode,
      said?.code ?? '',
      `${call.method} ${call.path} answered ${answer.statusCode}: ${said?.detail ?? said?.message ?? 'no explanation'}`,
      Number(answer.headers['retry-after']) * 1_000 || RETRY_MS,
    );
  }

  const parsedBy =
    <T>(schema: z.ZodType<T>) =>
    async (answer: Answer) =>
      schema.parse(await jsonOf(answer));

  return {
    get: (path, schema) => request({ method: 'GET', path }, parsedBy(schema)),
    post: (path, body, schema) =>
      request(
        { method: 'POST', path, body: JSON.stringify(body), idempotencyKey: randomUUID() },
        parsedBy(schema),
      ),
    patch: (path, body, schema) =>
      request({ method: 'PATCH', path, body: JSON.stringify(body) }, parsedBy(schema)),
    postFile: (path, file, contentType, schema, onProgress) => {
      const body = () => openFile(file, onProgress);
      return request({ method: 'POST', path, body, contentType }, parsedBy(schema));
    },
    getFile: (path, file) => request({ method: 'GET', path }, ({ body }) => writeWhole(body, file)),
    async close() {
      await logOut();
      await Promise.all([app.pool.destroy(), auth.pool.destroy()]);
    },
  };
}

function reach(url: string): { pool: Pool; prefix: string } {
  const { origin, pathname } = new URL(url);
  const pool = new Pool(origin, { connections: 2, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS });
  return { pool, prefix: pathname.replace(/\/+$/, '') };
}

/** With a cookie, campaigns want to be told who acts (api.md 2). */
async function asUser(proof: Proof, answer: Answer): Promise<Proof> {
  return { ...proof, 'x-user-id': session.parse(await jsonOf(answer)).user.id };
}

function openFile(file: string, onProgress: ((bytes: number) => void) | undefined): Readable {
  const stream = createReadStream(file);
  // Listening to data would set it flowing before anybody reads.
  const timer = setInterval(() => onProgress?.(stream.bytesRead), PROGRESS_MS);
  stream.once('close', () => {
    clearInterval(timer);
    onProgress?.(stream.bytesRead);
  });
  return stream;
}

/** Under another name until it is whole: half a report looks like a report. */
async function writeWhole(body: Readable, file: string): Promise<void> {
  const part = `${file}.part`;
  try {
    await pipeline(body, createWriteStream(part));
    await rename(part, file);
  } catch (error) {
    await rm(part, { force: true });
    const { code, path } = error as NodeJS.ErrnoException;
    if (path === undefined && code !== 'ENOSPC') throw error;
    throw new StartupError(`${file} cannot be written: ${code}`, 'Name a file that this user may write.', {
      cause: error,
    });
  }
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

/** `undefined` for what is no JSON. */
async function jsonOf(answer: Answer): Promise<unknown> {
  const text = await answer.body.text();
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
