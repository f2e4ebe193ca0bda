import type { Log } from '../log';

/**
 * Things that were opened, to be closed in reverse order. Each opening is followed at once by its
 * closing, so that a start which fails half-way leaves nothing behind.
 */
export class Shutdown {
  private readonly stack: { name: string; close: () => Promise<unknown> | unknown }[] = [];

  constructor(private readonly log: Log) {}

  add(name: string, close: () => Promise<unknown> | unknown): void {
    this.stack.push({ name, close });
  }

  /** Closes everything once; what fails to close is logged and does not keep the rest open. */
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
