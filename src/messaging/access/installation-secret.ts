import { createHmac } from 'node:crypto';
import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { MessagingTables } from '../model/tables';
import { KEY_PREFIX_CHARS } from './api-keys';
import type { Sealing } from './sealing';
import { hashSecret, newSecret } from './secrets';

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

/** Credentials of this installation's campaigns of one workspace at its own service. */
export interface CampaignAccess {
  clientId: string;
  clientSecret: string;
  apiKey: string;
  /** Set by the call that made the key in place of a revoked one. */
  replaced: ReplacedKey | undefined;
}

const CLIENT_ID = 'cli_campaigns_';
const KEY_ID = 'key_campaigns_';

/** Its secret is derived at every start, so one that an administrator gave it would not be used. */
export const isCampaignClient = (id: string): boolean => id.startsWith(CLIENT_ID);

/** Both are derived from a secret of the installation, so that every process that knows it has the same client. */
export function campaignClient(
  installationSecret: string,
  workspaceId: string,
): Pick<CampaignAccess, 'clientId' | 'clientSecret'> {
  return {
    clientId: `${CLIENT_ID}${workspaceId}`,
    clientSecret: newSecret('ffs', derive(installationSecret, workspaceId, 'client')),
  };
}

/** The key that follows so many revoked ones, derived as the client is. */
function campaignKey(installationSecret: string, workspaceId: string, revoked: number) {
  const [what, end] = revoked === 0 ? ['key', ''] : [`key ${revoked}`, `_${revoked}`];
  return {
    id: `${KEY_ID}${workspaceId}${end}`,
    apiKey: newSecret('ffk', derive(installationSecret, workspaceId, what)),
  };
}

/** Nothing needs to be stored, and one workspace's credentials do not reveal another's. */
const derive = (installationSecret: string, workspaceId: string, what: string): Buffer =>
  createHmac('sha256', installationSecret).update(`${what} of the campaigns of ${workspaceId}`).digest();

/** A key that was made because the one before it was revoked. */
export interface ReplacedKey {
  id: string;
  replaces: string;
}

/**
 * Admits a workspace's campaigns with a client and a key that its administrators can see. Disabling the client
 * stops the campaigns until it is enabled again. A key that is revoked is replaced by another one, because no
 * administrator can give the campaigns a key; `onReplaced` is called last in the transaction. Repeated, it changes
 * nothing. After the installation's secret was replaced, the former client stays valid for a day, for processes
 * that do not know the new secret yet. Such a process gives the new secret an end too, which the next process that
 * knows it takes away.
 */
export async function admitCampaigns(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  installationSecret: string,
  onReplaced: (tx: Transaction<MessagingTables>, key: ReplacedKey) => Promise<void>,
): Promise<CampaignAccess> {
  const { clientId, clientSecret } = campaignClient(installationSecret, workspaceId);
  const admitted = await db.transaction().execute(async (tx) => {
    await sql`
      insert into api_clients (id, workspace_id, name)
      select ${clientId}, id, 'Campaigns' from workspaces where id = ${workspaceId}
      on conflict do nothing`.execute(tx);
    await sql`
      insert into api_client_secrets (client_id, secret_hash) values (${clientId}, ${hashSecret(clientSecret)})
      on conflict (client_id, secret_hash) do update set valid_till = null
      where api_client_secrets.valid_till is not null`.execute(tx);
    await sql`
      update api_client_secrets set valid_till = now() + interval '1 day'
      where client_id = ${clientId} and secret_hash <> ${hashSecret(clientSecret)} and valid_till is null`.execute(
      tx,
    );
    return admitKey(tx, workspaceId, installationSecret, onReplaced);
  });
  return { clientId, clientSecret, ...admitted };
}

/** Returns the workspace's present key. While the client is disabled, none is made. */
async function admitKey(
  tx: Transaction<MessagingTables>,
  workspaceId: string,
  installationSecret: string,
  onReplaced: (tx: Transaction<MessagingTables>, key: ReplacedKey) => Promise<void>,
): Promise<Pick<CampaignAccess, 'apiKey' | 'replaced'>> {
  const { revoked } = await tx
    .selectFrom('api_keys')
    .select(sql<number>`count(*)::int`.as('revoked'))
    .where('workspace_id', '=', workspaceId)
    .where(sql<boolean>`starts_with(id, ${KEY_ID})`)
    .where('revoked_at', 'is not', null)
    .executeTakeFirstOrThrow();
  const { id, apiKey } = campaignKey(installationSecret, workspaceId, revoked);
  const { rows } = await sql<{ isNew: boolean }>`
    insert into api_keys (id, workspace_id, name, key_hash, prefix)
    select ${id}, w.id, 'Campaigns', ${hashSecret(apiKey)}, ${apiKey.slice(0, KEY_PREFIX_CHARS)}
    from workspaces w join api_clients c on c.id = ${CLIENT_ID} || w.id and c.disabled_at is null
    where w.id = ${workspaceId}
    on conflict (id) do update set key_hash = excluded.key_hash, prefix = excluded.prefix
    where api_keys.key_hash <> excluded.key_hash
    returning xmax = 0 as "isNew"`.execute(tx);
  if (!rows[0]?.isNew || revoked === 0) return { apiKey, replaced: undefined };
  const replaced = { id, replaces: campaignKey(installationSecret, workspaceId, revoked - 1).id };
  await onReplaced(tx, replaced);
  return { apiKey, replaced };
}
