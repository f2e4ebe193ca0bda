import { AsyncLocalStorage } from 'node:async_hooks';
import { escapeLiteral, type QueryResult } from 'pg';

export interface Statement {
  text: string;
  /** Values of `$1`, `$2` and so on. */
  values: readonly (string | null)[];
}

/** What Kysely needs of a connection. */
export interface Connection {
  query(text: string, values: unknown[]): Promise<QueryResult>;
  release(): void;
}

/**
 * A statement that belongs into the transaction in which a piece of work first changes something: both are
 * committed, or neither. The connection looks for it just before that transaction is committed, so that code which
 * changes things need not pass it along, and cannot forget it. It is sent together with the commit, so that what it
 * locks is locked for as long as the server commits, and not until a busy process has read an answer.
 *
 * Work that changes nothing writes none.
 */
export class Companion {
  private state: 'awaited' | 'under way' | 'written' | 'closed' = 'awaited';

  constructor(private readonly statement: () => Statement) {}

  get isAwaited(): boolean {
    return this.state === 'awaited';
  }

  /** From now on it accompanies nothing, such as work that goes on after its call was answered. */
  close(): void {
    if (this.state === 'awaited') this.state = 'closed';
  }

  /** A transaction that fails leaves it to the next one. */
  async commit(connection: Connection): Promise<QueryResult> {
    const first = this.state === 'awaited';
    if (!first) return connection.query('commit', []);
    this.state = 'under way';
    try {
      // Two statements in one message can have no parameters.
      const results = await connection.query(`${withLiterals(this.statement())};\ncommit`, []);
      this.state = 'written';
      return ([results].flat() as QueryResult[]).at(-1) as QueryResult;
    } catch (error) {
      this.state = 'awaited';
      throw error;
    }
  }
}

const current = new AsyncLocalStorage<Companion>();

export function withFirstChange<Result>(companion: Companion, work: () => Result): Result {
  return current.run(companion, work);
}

/** Runs work outside the call's change, such as counting a failed attempt. */
export function unaccompanied<Result>(work: () => Result): Result {
  return current.exit(work);
}

/** Without a companion, as for every message, this costs one look at the current context. */
export function accompanied(connection: Connection): Connection {
  let open = false;
  let changed = false;

  async function alone(companion: Companion, text: string, values: unknown[]): Promise<QueryResult> {
    await connection.query('begin', []);
    try {
      const result = await connection.query(text, values);
      await (hasChanged(text, result) ? companion.commit(connection) : connection.query('commit', []));
      return result;
    } catch (error) {
      await connection.query('rollback', []).catch(() => undefined);
      throw error;
    }
  }

  return {
    async query(text, values) {
      const companion = current.getStore();
      if (!companion) return connection.query(text, values);
      if (isBegin(text)) [open, changed] = [true, false];
      else if (text === 'rollback') open = false;
      else if (text === 'commit') {
        open = false;
        if (changed) return companion.commit(connection);
      } else if (!open && companion.isAwaited && mayChange(text)) return alone(companion, text, values);

      const result = await connection.query(text, values);
      if (open) changed ||= hasChanged(text, result);
      return result;
    },
    release: () => connection.release(),
  };
}

function withLiterals({ text, values }: Statement): string {
  return text.replace(/\$(\d+)/g, (_, number: string) => {
    const value = values[Number(number) - 1] ?? null;
    return value === null ? 'null' : escapeLiteral(value);
  });
}

const isBegin = (text: string) => text === 'begin' || text.startsWith('start transaction');

/** `for update` only locks. A parameter is never part of the text. */
const mayChange = (text: string) =>
  /\b(insert into|delete from|(?<!\b(?:for|key) )update)\b/i.test(text) && !isNote(text);

/** What a call leaves under its Idempotency-Key (messaging/idempotency.ts), also when it changes nothing. */
const isNote = (text: string) => /^\s*insert into idempotency_keys\b/i.test(text);

/** A query that changes rows on its way is a select to the server, and counts the rows that it returns. */
function hasChanged(text: string, { command, rowCount }: QueryResult): boolean {
  return (rowCount ?? 0) > 0 && !isNote(text) && (command !== 'SELECT' || mayChange(text));
}
