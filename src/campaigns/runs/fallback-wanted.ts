import { sql } from 'kysely';

/**
 * SQL: false for a recipient whom an earlier channel has reached since this channel was opened. That opening is
 * about to be taken back (fallback-turns.ts).
 */
export const isWanted = (recipient: 'recipients' | 'r') => {
  const column = (name: string) => sql.ref(`${recipient}.${name}`);
  return sql`(coalesce(${column('turn')}, 0) = 0 or not exists (
    select from recipients e where e.run_id = ${column('run_id')} and e.contact_id = ${column('contact_id')}
      and e.turn < ${column('turn')} and e.state = 'delivered'))`;
};
