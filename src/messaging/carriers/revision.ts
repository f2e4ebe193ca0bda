import { sql, type Transaction } from 'kysely';
import type { MessagingTables } from '../model/tables';

/** Makes changes of accounts, routes and senders one after the other, and known to every process. */
export async function raiseRevision(tx: Transaction<MessagingTables>): Promise<void> {
  await tx.updateTable('carrier_settings').set({ revision: sql<number>`revision + 1` }).execute();
}
