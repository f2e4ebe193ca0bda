import { sql } from 'kysely';
import { RECIPIENT_RANK, RECIPIENT_STATES } from '../../domain/recipient';

/** A state's rank as an SQL expression over a column that holds its name. */
export function rank(column: 'r.state' | 'result.state') {
  const cases = RECIPIENT_STATES.map((state) => `when '${state}' then ${RECIPIENT_RANK[state]}`).join(' ');
  return sql.raw(`(case ${column} ${cases} end)`);
}
