import { problemOf, Unreachable } from './problem';
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

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

let userId: string | undefined;

/** Set by the session (session.ts). */
export function actAs(id: string | undefined): void {
  userId = id;
}

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
  const response = await send(addressOf(url, path, query), {
    method,
    signal: signal ?? null,
    headers: {
      accept: 'application/json',
      ...(body === undefined ? {} : { 'content-type': contentTypeOf(body) }),
      ...(userId === undefined ? {} : { 'x-user-id': userId }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    },
    body: body === undefined ? null : body instanceof Blob ? body : JSON.stringify(body),
  });
  if (!response.ok) throw await problemOf(response);
  return (response.status === 204 ? undefined : await response.json()) as Answer;
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
