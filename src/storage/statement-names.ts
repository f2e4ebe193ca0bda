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
/** A plan may become outdated with the schema: `feature_not_supported`, `invalid_sql_statement_name`. */
const STALE = new Set(['0A000', '26000']);

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

export const isStale = (error: unknown): boolean => STALE.has((error as { code?: string }).code ?? '');
