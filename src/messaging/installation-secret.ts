import type { Kysely } from 'kysely';
import { newSecret } from './secrets';
import type { MessagingTables } from './tables';

/**
 * A secret of the whole installation, made by whichever process asks first. It is in the database, and in
 * clear, because it must be the same in every process, and for as long as there is anything made with it:
 * whoever restores a backup has it back.
 */
export async function installationSecret(db: Kysely<MessagingTables>, name: string): Promise<string> {
  await db
    .insertInto('installation_secrets')
    .values({ name, secret: newSecret('ffx') })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const { secret } = await db
    .selectFrom('installation_secrets')
    .select('secret')
    .where('name', '=', name)
    .executeTakeFirstOrThrow();
  return secret;
}
