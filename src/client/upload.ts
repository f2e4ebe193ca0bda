import type { RequestOptions } from './calls';
import type { Transport } from './transport';
import type { ImportReport } from './types';

/** A text; a stream, which can be sent only once; or a function that opens one, for another try after a failure. */
export type Upload = string | AsyncIterable<string | Uint8Array> | (() => AsyncIterable<string | Uint8Array>);

/** An answer comes when all of it is stored. */
const TIMEOUT_MS = 600_000;

/** Sends rows of any number, as they come. */
export async function uploaded(
  transport: Transport,
  path: string,
  type: string,
  rows: Upload,
  { signal }: RequestOptions,
): Promise<ImportReport> {
  const open = typeof rows === 'function' ? rows : () => rows;
  const text = { type, open, once: typeof rows === 'object' };
  const call = { method: 'POST', path, text, timeoutMs: TIMEOUT_MS, signal } as const;
  return (await transport.json<{ data: ImportReport }>(call)).data;
}
