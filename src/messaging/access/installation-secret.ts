import { type Kysely, type Selectable, sql } from 'kysely';
import type { MessagingTables } from '../model/tables';
import type { Sealing } from './sealing';
import { newSecret } from './secrets';

/**
 * A secret of the whole installation, created by the first process that asks for it. It is in the database,
 * because every process needs the same one for as long as something derived from it exists, and a restored
 * backup brings it back. It is encrypted if the operator has given a key; without one it is stored in plain
 * text.
 */
export async function installationSecret(
  db: Kysely<MessagingTables>,
  name: string,
  sealing: Sealing | undefined,
): Promise<string> {
  const secret = newSecret('ffx');
  await db
    .insertInto('installation_secrets')
    .values({
      name,
      secret: sealing ? sealing.seal(secret, aboutOf(name)) : secret,
      key_id: sealing?.keyId ?? null,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const kept = await knownInstallationSecret(db, name, sealing);
  if (kept === undefined) throw new Error(`The secret ${name} went away as it was made`);
  return kept;
}

export async function knownInstallationSecret(
  db: Kysely<MessagingTables>,
  name: string,
  sealing: Sealing | undefined,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('installation_secrets')
    .selectAll()
    .where('name', '=', name)
    .executeTakeFirst();
  return row && open(row, sealing);
}

/**
 * Encrypts all of them with the first key, whatever key they had before. They are a handful of rows. Each is
 * changed only if it is still as it was read, so that processes that start side by side take turns.
 */
export async function sealInstallationSecrets(db: Kysely<MessagingTables>, sealing: Sealing): Promise<void> {
  const rows = await db
    .selectFrom('installation_secrets')
    .selectAll()
    .where('key_id', 'is distinct from', sealing.keyId)
    .execute();
  for (const row of rows) {
    const sealed = sealing.seal(open(row, sealing), aboutOf(row.name));
    await sql`
      update installation_secrets set secret = ${sealed}, key_id = ${sealing.keyId}
      where name = ${row.name} and secret = ${row.secret}`.execute(db);
  }
}

function open(
  { name, secret, key_id: keyId }: Selectable<MessagingTables['installation_secrets']>,
  sealing: Sealing | undefined,
): string {
  if (keyId === null) return secret;
  if (!sealing) throw new Error(`The secret ${name} is sealed with the key ${keyId}, and no key is there`);
  return sealing.open(secret, keyId, aboutOf(name));
}

const aboutOf = (name: string) => `installation secret ${name}`;
