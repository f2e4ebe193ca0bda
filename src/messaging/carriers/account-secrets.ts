import { type Kysely, sql } from 'kysely';
import type { Sealing } from '../access/sealing';
import type { MessagingTables } from '../model/tables';

/** The secrets of an account in the database: one sealed object, authenticated with the account's id. */
export function sealAccountSecrets(sealing: Sealing, id: string, secrets: Record<string, unknown>) {
  return {
    secrets: sealing.seal(JSON.stringify(secrets), aboutOf(id)),
    key_id: sealing.keyId,
    secret_names: Object.keys(secrets).sort(),
  };
}

/** Throws for a key that is not there, and for secrets that are not this account's. */
export function openAccountSecrets(
  sealing: Sealing,
  { id, secrets, key_id }: { id: string; secrets: string; key_id: string },
): Record<string, unknown> {
  return JSON.parse(sealing.open(secrets, key_id, aboutOf(id))) as Record<string, unknown>;
}

/**
 * Seals with the first key what is under another one. Killed in the middle, the next start goes on. An account that is
 * changed meanwhile was sealed by who changed it. Answers the accounts whose secrets cannot be opened.
 */
export async function sealAccountsAnew(db: Kysely<MessagingTables>, sealing: Sealing): Promise<string[]> {
  const rows = await db
    .selectFrom('accounts')
    .select(['id', 'secrets', 'key_id'])
    .where('key_id', '<>', sealing.keyId)
    .execute();
  const unreadable: string[] = [];
  for (const row of rows) {
    try {
      const fresh = sealAccountSecrets(sealing, row.id, openAccountSecrets(sealing, row));
      await sql`
        update accounts set secrets = ${fresh.secrets}, key_id = ${fresh.key_id}
        where id = ${row.id} and secrets = ${row.secrets}`.execute(db);
    } catch {
      unreadable.push(row.id);
    }
  }
  return unreadable;
}

const aboutOf = (id: string) => `secrets of account ${id}`;
