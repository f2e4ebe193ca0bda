import { randomUUID } from 'node:crypto';
import type { Transport } from './transport';

/** Options of one method call. */
export interface RequestOptions {
  signal?: AbortSignal | undefined;
}

/** Of a call that creates something or steers a campaign, which goes out under an Idempotency-Key. */
export interface KeyedOptions extends RequestOptions {
  /**
   * The key, if this call may be made again by another process, as after a crash: the same key with the same content is
   * one call, for 24 hours at least. Without it each call of the method has a key of its own.
   */
  idempotencyKey?: string | undefined;
}

type Base = 'app' | 'send';
type Values = Record<string, string | number | boolean | undefined>;

/**
 * The kinds of calls that the methods of the client are made of. Each may be repeated by the transport: what creates
 * something goes out under an Idempotency-Key that is the same for all tries of one call, the rest does nothing twice.
 */
export class Calls {
  constructor(
    readonly transport: Transport,
    private readonly base: Base = 'app',
  ) {}

  async get<T>(path: string, { signal }: RequestOptions): Promise<T> {
    return (await this.whole<{ data: T }>(path, { signal })).data;
  }

  /** The answer with what stands beside `data`. */
  whole<T>(path: string, { signal }: RequestOptions): Promise<T> {
    return this.transport.json<T>({ method: 'GET', path, signal, base: this.base });
  }

  /** For what changes nothing, or carries an id of its own. */
  post<T>(path: string, json: unknown, { signal }: RequestOptions): Promise<T> {
    return this.write<T>('POST', path, json, { signal });
  }

  /** Under a key, so that the server recognises its repetitions. */
  async once<T>(path: string, json: unknown, options: KeyedOptions): Promise<T> {
    return (await this.onceWhole<{ data: T }>('POST', path, json, options)).data;
  }

  /** The same, for an answer that has more than `data`. */
  onceWhole<T>(method: 'POST' | 'PUT', path: string, json: unknown, options: KeyedOptions): Promise<T> {
    const { signal, idempotencyKey = randomUUID() } = options;
    const headers = { 'idempotency-key': idempotencyKey };
    return this.transport.json<T>({ method, path, json, signal, base: this.base, headers });
  }

  put<T>(path: string, json: unknown, { signal }: RequestOptions): Promise<T> {
    return this.write<T>('PUT', path, json, { signal });
  }

  patch<T>(path: string, json: unknown, { signal }: RequestOptions): Promise<T> {
    return this.write<T>('PATCH', path, json, { signal });
  }

  delete<T>(path: string, { signal }: RequestOptions): Promise<T> {
    return this.write<T>('DELETE', path, undefined, { signal });
  }

  /** A list by cursor, item by item. */
  async *byCursor<T>(
    path: string,
    values: Values,
    { signal }: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await this.whole<{ data: T[]; next: string | null }>(
        path + queryOf({ ...values, cursor }),
        { signal },
      );
      yield* page.data;
      cursor = page.next;
    }
  }

  /** A list by page, item by item. What is added or removed meanwhile can move an item to another page. */
  async *byPage<T>(
    path: string,
    values: Values,
    { signal }: RequestOptions,
  ): AsyncGenerator<T, void, undefined> {
    for (let page = 1, read = 0; ; page += 1) {
      const { data, pagination } = await this.whole<{ data: T[]; pagination: { total: number } }>(
        path + queryOf({ ...values, page }),
        { signal },
      );
      yield* data;
      read += data.length;
      if (data.length === 0 || read >= pagination.total) return;
    }
  }

  /** A file as it comes. Tried once: after a failure in its middle, read it again from its beginning. */
  bytes(path: string, { signal }: RequestOptions): AsyncGenerator<Uint8Array, void, undefined> {
    return this.transport.bytes({ method: 'GET', path, signal, base: this.base, timeoutMs: 0 });
  }

  private async write<T>(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    json: unknown,
    { signal }: RequestOptions,
  ): Promise<T> {
    const call = { method, path, json, signal, base: this.base };
    return (await this.transport.json<{ data: T }>(call)).data;
  }
}

/** `?a=1&b=2` of what has a value, or nothing. */
export function queryOf(values: Values): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) {
    if (value !== undefined) query.set(name, String(value));
  }
  return query.size === 0 ? '' : `?${query}`;
}

/** A path of which each value is one segment, whatever characters it has: route`/api/template/${id}`. */
export const route = (parts: TemplateStringsArray, ...values: string[]): string =>
  parts.reduce((path, part, i) => path + encodeURIComponent(values[i - 1] ?? '') + part);
