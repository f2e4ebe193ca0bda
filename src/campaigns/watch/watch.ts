import { type Kysely, type RawBuilder, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';

/** Work that one process at a time does for all: the process that renewed the row of this name last. */
export interface Watch {
  name: string;
  owner: string;
}

/**
 * SQL, a statement that takes or renews the watch: one row if this process has it now, none if another one has
 * it.
 */
export const holdWatch = ({ name, owner }: Watch): RawBuilder<unknown> => sql`
  insert into watches as w (name, owner, held_until)
  values (${name}, ${owner}, clock_timestamp() + make_interval(secs => ${LIMITS.watchLeaseSeconds}))
  on conflict (name) do update set owner = excluded.owner, held_until = excluded.held_until
    where w.owner = excluded.owner or w.held_until < clock_timestamp()
  returning 1`;

/** Releases the watch, so that another process gets it with its next look. */
export async function giveUpWatch(db: Kysely<CampaignTables>, { name, owner }: Watch): Promise<void> {
  await sql`update watches set held_until = '-infinity' where name = ${name} and owner = ${owner}`.execute(
    db,
  );
}
