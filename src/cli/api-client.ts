import { randomUUID } from 'node:crypto';
import { createReadStream, createWriteStream } from 'node:fs';
import { rename, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { z } from 'zod';
import { type Access, type Ask, type Proof, tokenAccess } from '../client/access';
import { FanfareError, refusal } from '../client/fanfare-error';
import { type Call, Transport } from '../client/transport';
import { StartupError } from '../startup-error';
import { needReadable } from './input-file';
import { reasonOf, wayIn } from './unreachable';

/** About a minute: long enough for an instance that restarts its Temporal server or processes an import. */
const RETRIES = 12;
/** An upload is answered when all of it is stored. */
const UPLOAD_TIMEOUT_MS = 600_000;
/** A report is written from its beginning by each try; one that took its ten minutes in vain is not tried again. */
const DOWNLOAD_TRIES_WITHIN_MS = 120_000;

export type ApiClientOptions = {
  baseUrl: string;
  /** Where tokens come from, if that is another address. */
  authUrl?: string | undefined;
  /** For single messages and holds, and where they are if that is elsewhere. */
  apiKey?: string | undefined;
  sendUrl?: string | undefined;
  signal?: AbortSignal | undefined;
  /** How often a call is repeated while the instance is busy or away; for about a minute unless said. */
  retries?: number | undefined;
} & ({ client: { id: string; secret: string } } | SessionOf);

export interface ApiClient {
  get<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  post<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  put<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  patch<T>(path: string, body: unknown, schema: z.ZodType<T>): Promise<T>;
  delete<T>(path: string, schema: z.ZodType<T>): Promise<T>;
  /** Sends a file unchanged, of any length; `onProgress` gets the number of bytes read so far. */
  postFile<T>(
    path: string,
    file: string,
    contentType: string,
    schema: z.ZodType<T>,
    onProgress?: (bytes: number) => void,
  ): Promise<T>;
  /** Writes the answer to a file, which appears once it is complete. */
  getFile(path: string, file: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * The public HTTP API for commands, over the client that other programs use: credentials for a token or a
 * session, and validated answers. If the instance is busy or away, a call is repeated under one
 * Idempotency-Key, so that it takes effect once. A command that is run again is another call.
 */
export function createApiClient(options: ApiClientOptions): ApiClient {
  const { baseUrl, authUrl, apiKey, sendUrl, signal, retries = RETRIES, ...who } = options;
  let session: SessionAccess | undefined;
  const where = { baseUrl, ...(sendUrl ? { sendUrl } : {}), ...(apiKey ? { apiKey } : {}) };
  const transport = new Transport({ ...where, retries }, (ask) => {
    if ('client' in who) {
      const { id, secret } = who.client;
      const url = (authUrl ?? baseUrl).replace(/\/+$/, '');
      return tokenAccess({ authUrl: url, clientId: id, clientSecret: secret }, ask);
    }
    session = sessionAccess(baseUrl, who, ask);
    return session;
  });
  let hasAnswered = false;

  /** An instance that has answered before will come back; one that never has is not running. */
  async function read<T>(asked: Call, take: (answer: Response) => Promise<T>): Promise<T> {
    const call = SENDING.test(asked.path) ? { ...asked, base: 'send' as const } : asked;
    if (call.base === 'send' && apiKey === undefined) throw noApiKey();
    const { triesWithinMs = Number.POSITIVE_INFINITY } = call;
    if (!hasAnswered) {
      const startedAt = Date.now();
      try {
        return await transport.read({ ...call, signal, retries: 0 }, (answer) => {
          hasAnswered = true;
          return take(answer);
        });
      } catch (error) {
        if (!(error instanceof FanfareError)) throw error;
        if (error.status === 0 && !hasAnswered) throw nothingThere(baseUrl, error);
        hasAnswered = true;
        if (!error.isForTheMoment || Date.now() - startedAt > triesWithinMs) throw error;
      }
    }
    return transport.read({ ...call, signal }, take);
  }

  const parsedBy =
    <T>(schema: z.ZodType<T>) =>
    async (answer: Response) =>
      schema.parse(await answer.json());

  return {
    get: (path, schema) => read({ method: 'GET', path }, parsedBy(schema)),
    post: (path, json, schema) =>
      read({ method: 'POST', path, json, headers: { 'idempotency-key': randomUUID() } }, parsedBy(schema)),
    put: (path, json, schema) =>
      read({ method: 'PUT', path, json, headers: { 'idempotency-key': randomUUID() } }, parsedBy(schema)),
    patch: (path, json, schema) => read({ method: 'PATCH', path, json }, parsedBy(schema)),
    delete: (path, schema) => read({ method: 'DELETE', path }, parsedBy(schema)),
    postFile: async (path, file, type, schema, onProgress) => {
      await needReadable(file);
      const text = { type, open: () => openFile(file, onProgress), once: false };
      return read({ method: 'POST', path, text, timeoutMs: UPLOAD_TIMEOUT_MS }, parsedBy(schema));
    },
    getFile: (path, file) =>
      read(
        { method: 'GET', path, timeoutMs: UPLOAD_TIMEOUT_MS, triesWithinMs: DOWNLOAD_TRIES_WITHIN_MS },
        (answer) => writeWhole(answer, file),
      ),
    close: async () => session?.end(),
  };
}

/** Paths of the service that sends; all others are the application's. */
const SENDING = /^\/(?:messages|holds)\b/;

function noApiKey(): StartupError {
  return new StartupError(
    'Single messages need an API key, and there is none',
    'Set FANFARE_API_KEY, or let FANFARE_DATA_DIR name the directory of the instance.',
  );
}

function nothingThere(baseUrl: string, error: Error): StartupError {
  const reason = reasonOf(error);
  return new StartupError(
    `Nothing answers at ${baseUrl}: ${reason.message}`,
    wayIn(baseUrl, reason) ??
      'Start an instance with `fanfare up`, or correct the address in credentials.json or FANFARE_APP_URL.',
    { cause: error },
  );
}

/** Proof of a user, for calls that a backend may not make: a log-in, or the cookie of a session. */
type SessionOf = { user: { email: string; password: string } } | { sessionCookie: string };

const session = z.object({ user: z.object({ id: z.string() }) });

interface SessionAccess extends Access {
  /** Ends the session, so that none stays open for days. If this fails, the session expires by itself. */
  end(): Promise<void>;
}

/** Logs in at the first call, and again when the session has ended. */
function sessionAccess(baseUrl: string, of: SessionOf, ask: Ask): SessionAccess {
  const url = `${baseUrl.replace(/\/+$/, '')}/api/session`;
  let current: Promise<Proof> | undefined;

  async function begin(): Promise<Proof> {
    if ('sessionCookie' in of) {
      const cookie = `session_token=${of.sessionCookie}`;
      return asUser(cookie, await ask(url, { headers: { cookie } }), 'GET /api/session');
    }
    const { email, password } = of.user;
    const answer = await ask(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email, password }),
    });
    const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
    return asUser(cookie, answer, 'POST /api/session');
  }

  return {
    proof() {
      current ??= begin().catch((error: unknown) => {
        current = undefined;
        throw error;
      });
      return current;
    },
    refused() {
      current = undefined;
    },
    async end() {
      if (!('user' in of) || !current) return;
      const headers = await current.catch(() => undefined);
      if (headers) await ask(url, { method: 'DELETE', headers }).catch(() => undefined);
    },
  };
}

/** With a cookie, campaign calls must name the acting user (api.md 2). */
async function asUser(cookie: string, answer: Response, what: string): Promise<Proof> {
  if (answer.status >= 300) throw await refusal(what, answer);
  return { cookie, 'x-user-id': session.parse(await answer.json()).user.id };
}

const PROGRESS_MS = 200;

/** A file to be sent unchanged; `onProgress` gets the number of bytes read so far. */
function openFile(file: string, onProgress: ((bytes: number) => void) | undefined): Readable {
  const stream = createReadStream(file);
  // A data listener would start the stream before there is a reader.
  const timer = setInterval(() => onProgress?.(stream.bytesRead), PROGRESS_MS);
  stream.once('close', () => {
    clearInterval(timer);
    onProgress?.(stream.bytesRead);
  });
  return stream;
}

/** Writes under another name until the file is complete, because half a report looks like a report. */
async function writeWhole(answer: Response, file: string): Promise<void> {
  const part = `${file}.part`;
  const body = answer.body as Parameters<typeof Readable.fromWeb>[0] | null;
  try {
    await pipeline(body ? Readable.fromWeb(body) : Readable.from([]), createWriteStream(part));
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
