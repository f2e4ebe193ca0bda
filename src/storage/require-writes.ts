import { type Kysely, sql } from 'kysely';

/**
 * Fails with PostgreSQL's own code 25006 where the server only reads, so that the pool gives the connection up as after any
 * write that is refused (postgres.ts): the next one may lead to the new primary. Takes no lock and writes nothing.
 */
// biome-ignore lint/suspicious/noExplicitAny: the tables do not matter.
export async function requireWrites(db: Kysely<any>): Promise<void> {
  await sql`
    do $$ begin
      if pg_is_in_recovery() then
        raise exception using errcode = '25006', message = 'the server is a standby';
      elsif current_setting('transaction_read_only')::boolean then
        raise exception using errcode = '25006', message = 'default_transaction_read_only is on';
      end if;
    end $$`.execute(db);
}
