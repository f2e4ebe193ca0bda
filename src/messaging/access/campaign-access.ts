import { createHmac } from 'node:crypto';
import { type Kysely, sql } from 'kysely';
import type { MessagingTables } from '../model/tables';
import { KEY_PREFIX_CHARS } from './api-keys';
import { hashSecret, newSecret } from './secrets';

/** Credentials of this installation's campaigns of one workspace at its own service. */
export interface CampaignAccess {
  clientId: string;
  clientSecret: string;
  apiKey: string;
}

/**
 * Derives the credentials from a secret of the installation. Every process that knows the secret gets the same
 * ones, and nothing needs to be stored. One workspace's credentials do not reveal another's.
 */
export function campaignAccess(installationSecret: string, workspaceId: string): CampaignAccess {
  const derive = (what: string): Buffer =>
    createHmac('sha256', installationSecret).update(`${what} of the campaigns of ${workspaceId}`).digest();
  return {
    clientId: `cli_campaigns_${workspaceId}`,
    clientSecret: newSecret('ffs', derive('client')),
    apiKey: newSecret('ffk', derive('key')),
  };
}

/**
 * Admits a workspace's campaigns with a client and a key that its administrators can see. Ending them stops the
 * campaigns. Repeated, it changes nothing. After the installation's secret was replaced, the former client
 * stays valid for a day, for processes that do not know the new secret yet.
 */
export async function admitCampaigns(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  { clientId, clientSecret, apiKey }: CampaignAccess,
): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`
      insert into api_clients (id, workspace_id, name)
      select ${clientId}, id, 'Campaigns' from workspaces where id = ${workspaceId}
      on conflict do nothing`.execute(tx);
    await sql`
      insert into api_client_secrets (client_id, secret_hash) values (${clientId}, ${hashSecret(clientSecret)})
      on conflict do nothing`.execute(tx);
    await sql`
      update api_client_secrets set valid_till = now() + interval '1 day'
      where client_id = ${clientId} and secret_hash <> ${hashSecret(clientSecret)} and valid_till is null`.execute(
      tx,
    );
    await sql`
      insert into api_keys (id, workspace_id, name, key_hash, prefix)
      select 'key_campaigns_' || id, id, 'Campaigns', ${hashSecret(apiKey)}, ${apiKey.slice(0, KEY_PREFIX_CHARS)}
      from workspaces where id = ${workspaceId}
      on conflict (id) do update set key_hash = excluded.key_hash, prefix = excluded.prefix
      where api_keys.key_hash <> excluded.key_hash`.execute(tx);
  });
}
