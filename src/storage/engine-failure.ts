/**
 * Whether the embedded engine itself has failed, and not a statement: WebAssembly has trapped, or PostgreSQL has
 * ended its process. What it holds in memory is in no known state then, and only a new start reads it anew.
 */
export function isBeyondRepair(error: unknown): boolean {
  const { name } = (error ?? {}) as { name?: unknown };
  return name === 'RuntimeError' || name === 'ExitStatus';
}
