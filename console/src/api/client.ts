import { endAfter } from './end-after';
import { NoAnswer, problemOf, Unreachable } from './problem';
import { reachability } from './reachability';

/**
 * The console's only way to the API: typed by the operations of `types.gen.ts`, with the session's cookie and, once
 * the user is known, their id in `x-user-id`. A call is `call<ReadCampaignData, ReadCampaignResponse>('GET',
 * '/api/campaign/{id}', { path: { id } })`.
 */
export interface Operation {
  url: string;
  body?: unknown;
  path?: unknown;
  query?: unknown;
}

type Given<Data extends Operation> = Pick<Data, Extract<keyof Data, 'path' | 'query' | 'body'>> & {
  signal?: AbortSignal;
  /** Sent with what creates something, so that a repeated press creates nothing twice. */
  idempotencyKey?: string;
};

/**
 * For reading, because a network that swallows a connection, or a server that hangs, never says so: the page would be
 * "loading" for ever. The slowest answers, about millions of recipients, take seconds. What changes something is not
 * given up, because a second try is not free there.
 */
const READ_WITHIN_MS = 60_000;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

let userId: string | undefined;

/** Set by the session (session.ts). */
export function actAs(id: string | undefined): void {
  userId = id;
}

/** Who acts, for what is not asked by `call`. */
export const headersOfUser = (): Record<string, string> =>
  userId === undefined ? {} : { 'x-user-id': userId };

export async function call<Data extends Operation, Answer>(
  method: Method,
  url: Data['url'],
  given?: Given<Data>,
): Promise<Answer> {
  const { path, query, body, signal, idempotencyKey } = (given ?? {}) as {
    path?: Record<string, string>;
    query?: Record<string, unknown>;
    body?: unknown;
    signal?: AbortSignal;
    idempotencyKey?: string;
  };
  const ask = async (until: AbortSignal | undefined) => {
    const response = await send(addressOf(url, path, query), {
      method,
      signal: until ?? null,
      headers: {
        accept: 'application/json',
        ...(body === undefined ? {} : { 'content-type': contentTypeOf(body) }),
        ...headersOfUser(),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      body: body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body),
    });
    if (!response.ok) throw await problemOf(response);
    return (response.status === 204 ? undefined : await response.json()) as Answer;
  };
  return method === 'GET' ? within(READ_WITHIN_MS, signal, ask) : ask(signal);
}

/** Also the end of the answer has to be there by then. */
async function within<Answer>(
  ms: number,
  signal: AbortSignal | undefined,
  ask: (until: AbortSignal) => Promise<Answer>,
): Promise<Answer> {
  const begun = performance.now();
  const limit = endAfter(ms, signal);
  try {
    return await ask(limit.signal);
  } catch (error) {
    if (!limit.isOver()) throw error;
    // A server that has answered others meanwhile is there, and only this is slow.
    if (reachability.reachedAt() <= begun) reachability.set(false);
    throw new NoAnswer(ms / 1_000, { cause: error });
  } finally {
    limit.stop();
  }
}

const contentTypeOf = (body: unknown) =>
  body instanceof Blob ? body.type || 'text/csv' : 'application/json';

/** `{name}` is replaced, and what is undefined or empty is left out of the query. */
export function addressOf(
  url: string,
  path: Record<string, string> = {},
  query: Record<string, unknown> = {},
): string {
  const filled = url.replace(/\{(\w+)\}/g, (_whole, name: string) => encodeURIComponent(path[name] ?? ''));
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined && value !== null && value !== '') params.set(name, String(value));
  }
  const text = params.toString();
  return text === '' ? filled : `${filled}?${text}`;
}

async function send(address: string, init: RequestInit): Promise<Response> {
  try {
    const response = await fetch(address, { credentials: 'same-origin', ...init });
    reachability.set(true);
    return response;
  } catch (error) {
    if (init.signal?.aborted) throw error;
    reachability.set(false);
    throw new Unreachable('The server could not be reached', { cause: error });
  }
}
