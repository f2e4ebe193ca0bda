import type { Fault } from './provider';

/** What may be logged of an error: its text may name an address or a key. */
export function faultOf(error: unknown): Fault {
  if (!(error instanceof Error)) return { name: typeof error };
  const { code } = error as { code?: unknown };
  const at = /^ +at (.{1,200})$/m.exec(error.stack ?? '')?.[1];
  return { name: error.name, ...(typeof code === 'string' ? { code } : {}), ...(at ? { at } : {}) };
}
