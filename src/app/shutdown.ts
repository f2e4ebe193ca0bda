import type { Log } from '../log';

/**
 * Opened parts, to be closed in reverse order. Each opening registers its closing at once, so that a start that
 * fails half-way leaves nothing open.
 */
export class Shutdown {
  private readonly stack: { name: string; close: () => Promise<unknown> | unknown }[] = [];

  constructor(private readonly log: Log) {}

  add(name: string, close: () => Promise<unknown> | unknown): void {
    this.stack.push({ name, close });
  }

  /** Closes everything once. A failure to close is logged and does not keep the others open. */
  async closeAll(): Promise<void> {
    for (let next = this.stack.pop(); next; next = this.stack.pop()) {
      const startedAt = Date.now();
      try {
        await next.close();
        this.log.debug({ part: next.name, ms: Date.now() - startedAt }, 'closed');
      } catch (error) {
        this.log.error({ part: next.name, err: error }, 'did not close cleanly');
      }
    }
  }
}
