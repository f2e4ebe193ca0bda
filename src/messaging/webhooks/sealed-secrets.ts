import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { LOST_KEY, type Sealing } from '../access/sealing';
import type { MessagingTables } from '../model/tables';
import type { SigningSecret } from './signature';

/** An endpoint's secrets in the database, all under one key, which `key_id` names (decision 19). */
export interface SealedSecret {
  sealed: string;
  validTill: string | null;
}

export function sealSecrets(
  sealing: Sealing,
  webhookId: string,
  secrets: readonly SigningSecret[],
): SealedSecret[] {
  return secrets.map(({ secret, validTill }) => ({
    sealed: sealing.seal(secret, aboutOf(webhookId)),
    validTill,
  }));
}

/** Throws for a missing key, and for secrets of another endpoint. */
export function openSecrets(
  sealing: Sealing,
  webhookId: string,
  { keyId, sealed }: { keyId: string | null; sealed: readonly SealedSecret[] },
): SigningSecret[] {
  return sealed.map((one) => ({
    secret: sealing.open(one.sealed, keyId ?? 'null', aboutOf(webhookId)),
    validTill: one.validTill,
  }));
}

/**
 * Encrypts with the first key what is stored in plain text or under another key, a few endpoints at a time. If
 * the process is killed, the next start continues. Secrets that change meanwhile are encrypted by the process
 * that changes them. A secret that cannot be decrypted stays unchanged and is reported.
 */
export async function sealStoredSecrets(
  db: Kysely<MessagingTables>,
  sealing: Sealing,
): Promise<{ sealed: number; unreadable: string[] }> {
  let sealed = 0;
  const unreadable: string[] = [];
  let last: string | undefined = '';
  while (last !== undefined) {
    const step = await sealStep(db, sealing, last);
    sealed += step.sealed;
    unreadable.push(...step.unreadable);
    last = step.last;
  }
  return { sealed, unreadable };
}

interface StoredRow {
  id: string;
  keyId: string | null;
  /** In plain text where there is no key. */
  secrets: (SealedSecret | SigningSecret)[];
}

async function sealStep(
  db: Kysely<MessagingTables>,
  sealing: Sealing,
  after: string,
): Promise<{ sealed: number; unreadable: string[]; last: string | undefined }> {
  return db.transaction().execute(async (tx) => {
    const { rows } = await sql<StoredRow>`
      select id, key_id as "keyId", signing_secrets as secrets from webhooks
      where id > ${after} and deleted_at is null and key_id is distinct from ${sealing.keyId}
      order by id limit ${LIMITS.webhookSealRows} for update`.execute(tx);
    const unreadable: string[] = [];
    const anew = rows.flatMap((row) => {
      try {
        return [{ id: row.id, secrets: JSON.stringify(sealSecrets(sealing, row.id, opened(sealing, row))) }];
      } catch {
        unreadable.push(row.id);
        return [];
      }
    });
    await sql`
      update webhooks w set signing_secrets = g.secrets::jsonb, key_id = ${sealing.keyId}
      from unnest(${anew.map(({ id }) => id)}::text[], ${anew.map(({ secrets }) => secrets)}::text[])
        as g(id, secrets)
      where w.id = g.id`.execute(tx);
    const last = rows.length === LIMITS.webhookSealRows ? rows.at(-1)?.id : undefined;
    return { sealed: anew.length, unreadable, last };
  });
}

const opened = (sealing: Sealing, { id, keyId, secrets }: StoredRow): SigningSecret[] =>
  secrets.map((one) =>
    'secret' in one ? one : (openSecrets(sealing, id, { keyId, sealed: [one] })[0] as SigningSecret),
  );

/** Keys that stored secrets need and that are not among the given ones. */
export async function missingKeys(
  db: Kysely<MessagingTables>,
  table: 'installation_secrets' | 'webhooks' | 'accounts' | 'registered_senders',
  keyIds: readonly string[],
): Promise<string[]> {
  const { rows } = await sql<{ keyId: string }>`
    select distinct key_id as "keyId" from ${sql.table(table)}
    where key_id is not null and key_id <> all(${[...keyIds, LOST_KEY]}::text[]) and ${table === 'webhooks' || table === 'accounts' ? sql`deleted_at is null` : sql`true`}
    order by key_id`.execute(db);
  return rows.map(({ keyId }) => keyId);
}

const aboutOf = (webhookId: string) => `signing secret of webhook ${webhookId}`;
