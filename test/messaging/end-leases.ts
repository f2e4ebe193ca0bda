import type { Kysely } from 'kysely';
import type { MessagingTables } from '../../src/messaging/model/tables';

/**
 * Every partition is free, as after the end of its process. The owner changes as well: a process of the test that lives on
 * would renew its lease before the next one adopts the partition, and then hand over what the test expects of the next.
 */
export async function endLeases(db: Kysely<MessagingTables>): Promise<void> {
  await db
    .updateTable('dispatch_lanes')
    .set({ lease_until: new Date(0), owner: 'proc_gone' })
    .execute();
}
