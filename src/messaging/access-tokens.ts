import type { Kysely } from 'kysely';
import { DomainError } from '../domain/errors';
import { createCredentialCache } from './credential-cache';
import { hashSecret, matchesHash, newSecret } from './secrets';
import type { MessagingTables } from './tables';

const HOUR_MS = 3_600_000;

export interface IssuedToken {
  accessToken: string;
  validTill: Date;
  expiresInSeconds: number;
}

export interface TokenCaller {
  workspaceId: string;
  via: 'bearer';
}

export interface AccessTokens {
  /** Fails with `invalid_client`, alike for a client that is unknown, disabled or has another secret. */
  checkClient(clientId: string, clientSecret: string): Promise<{ workspaceId: string }>;
  issueToken(clientId: string, clientSecret: string, validHours: number): Promise<IssuedToken>;
  byAccessToken(token: string): Promise<TokenCaller | undefined>;
  revokeToken(token: string): Promise<void>;
}

export function createAccessTokens(db: Kysely<MessagingTables>, now: () => number): AccessTokens {
  const cache = createCredentialCache({
    now,
    load: (hash) =>
      db
        .selectFrom('access_tokens as t')
        .innerJoin('api_clients as c', 'c.id', 't.client_id')
        .select(['t.workspace_id', 't.valid_till'])
        .where('t.token_hash', '=', hash)
        .where('t.revoked_at', 'is', null)
        .where('c.disabled_at', 'is', null)
        .executeTakeFirst(),
  });

  async function checkClient(clientId: string, clientSecret: string): Promise<{ workspaceId: string }> {
    const client = await db
      .selectFrom('api_clients')
      .select(['workspace_id', 'secret_hash'])
      .where('id', '=', clientId)
      .where('disabled_at', 'is', null)
      .executeTakeFirst();
    const matches = matchesHash(clientSecret, client?.secret_hash);
    if (client && matches) return { workspaceId: client.workspace_id };
    throw new DomainError('invalid_client', 'Client id or secret is wrong');
  }

  return {
    checkClient,
    async issueToken(clientId, clientSecret, validHours) {
      const { workspaceId } = await checkClient(clientId, clientSecret);
      // The answer tells whole seconds, and a token lives exactly as long as it says.
      const validTill = new Date(Math.ceil(now() / 1_000) * 1_000 + validHours * HOUR_MS);
      const accessToken = newSecret('fft');
      await db
        .deleteFrom('access_tokens')
        .where('client_id', '=', clientId)
        .where('valid_till', '<', new Date(now()))
        .execute();
      await db
        .insertInto('access_tokens')
        .values({
          token_hash: hashSecret(accessToken),
          client_id: clientId,
          workspace_id: workspaceId,
          valid_till: validTill,
          created_at: new Date(now()),
        })
        .execute();
      return { accessToken, validTill, expiresInSeconds: (validHours * HOUR_MS) / 1_000 };
    },
    async byAccessToken(token) {
      const held = await cache.find(token);
      if (!held || now() >= held.valid_till.getTime()) return undefined;
      return { workspaceId: held.workspace_id, via: 'bearer' };
    },
    async revokeToken(token) {
      await db
        .updateTable('access_tokens')
        .set({ revoked_at: new Date(now()) })
        .where('token_hash', '=', hashSecret(token))
        .execute();
      cache.forget(token);
    },
  };
}
