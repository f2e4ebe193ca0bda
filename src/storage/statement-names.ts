/**
 * Decides which statements are worth preparing: those that are repeated. Parsing and planning a statement with
 * several parts takes longer than running it for a few rows.
 */
export interface StatementNames {
  /** The name under which to prepare and run it; `undefined` while it may be a rare one. */
  nameFor(text: string): string | undefined;
  /** Its plan is outdated, so that it gets another name next time. */
  forget(text: string): void;
}

const USES_BEFORE_PREPARED = 3;
/** Each keeps a plan in every connection. The program has some two hundred statements. */
const NAMES_MAX = 400;
/** Statements whose uses are counted, most of them with another number of parameters each time. */
const COUNTED_MAX = 1_000;
/** `feature_not_supported`, which says of a prepared statement that a migration changed its columns, and `invalid_sql_statement_name`. */
const [CHANGED, GONE] = ['0A000', '26000'];
/** The part of the server that says so; its message may be in another language. */
const REVALIDATE = 'RevalidateCachedQuery';

export function createStatementNames(): StatementNames {
  const names = new Map<string, string>();
  const uses = new Map<string, number>();
  let given = 0;
  return {
    nameFor(text) {
      const name = names.get(text);
      if (name !== undefined || given === NAMES_MAX) return name;
      const count = (uses.get(text) ?? 0) + 1;
      // Deleted and inserted again, so that the first key is the one not used for the longest time.
      uses.delete(text);
      if (count > USES_BEFORE_PREPARED) {
        given += 1;
        names.set(text, `s${given}`);
        return `s${given}`;
      }
      uses.set(text, count);
      if (uses.size > COUNTED_MAX) uses.delete(uses.keys().next().value as string);
      return undefined;
    },
    forget(text) {
      names.delete(text);
    },
  };
}

/** The plan is outdated, so that the statement was not begun. */
export function isStale(error: unknown): boolean {
  const { code, routine } = (error ?? {}) as { code?: unknown; routine?: unknown };
  return code === GONE || (code === CHANGED && routine === REVALIDATE);
}
