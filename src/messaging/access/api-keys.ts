import { type Kysely, sql } from 'kysely';
import { SCOPES_DEFAULT, type Scope, scopesOf } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { MaybePromise } from '../../domain/maybe-promise';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { MessagingTables } from '../model/tables';
import { createCredentialCache } from './credential-cache';
import { type IdGenerator, RANDOM } from './id-generator';
import { hashSecret } from './secrets';

/** Characters of a key that lists show: enough to recognise it, and no help in guessing the rest. */
export const KEY_PREFIX_CHARS = 10;

export interface ApiKey {
  id: string;
  name: string;
  prefix: string;
  scopes: readonly Scope[];
  createdAt: Date;
  revokedAt: Date | null;
}

/** What a valid key proves. */
export interface KeyHolder {
  /** Id of the key. */
  id: string;
  workspaceId: string;
  scopes: readonly Scope[];
}

export interface ApiKeys {
  byApiKey(key: string): MaybePromise<KeyHolder | undefined>;
  /** Newest first. */
  list(
    workspaceId: string,
    page: { page: number; limit: number },
  ): Promise<{ keys: ApiKey[]; total: number }>;
  /** Returns the key itself, which is never shown again. */
  create(
    workspaceId: string,
    input: { name: string; scopes?: readonly Scope[] | undefined },
    generator?: IdGenerator,
  ): Promise<{ apiKey: ApiKey; key: string }>;
  /** Stops the key at once on this process and within 5 seconds on every other. Repeating it is harmless. */
  revoke(workspaceId: string, id: string): Promise<ApiKey>;
}

export function createApiKeys(db: Kysely<MessagingTables>, now: () => number): ApiKeys {
  const cache = createCredentialCache({
    now,
    async load(hash): Promise<KeyHolder | undefined> {
      const key = await db
        .selectFrom('api_keys')
        .select(['id', 'workspace_id', 'scopes'])
        .where('key_hash', '=', hash)
        .where('revoked_at', 'is', null)
        .executeTakeFirst();
      return key && { id: key.id, workspaceId: key.workspace_id, scopes: scopesOf(key.scopes) };
    },
  });

  return {
    byApiKey: (key) => cache.find(key),

    async list(workspaceId, { page, limit }) {
      const keys = await selectKeys(db, workspaceId)
        .orderBy('id', 'desc')
        .limit(limit)
        .offset((page - 1) * limit)
        .execute();
      const { total } = await db
        .selectFrom('api_keys')
        .select(sql<number>`count(*)::int`.as('total'))
        .where('workspace_id', '=', workspaceId)
        .executeTakeFirstOrThrow();
      return { keys: keys.map(toApiKey), total };
    },

    async create(workspaceId, { name, scopes = SCOPES_DEFAULT }, generator = RANDOM) {
      const [id, key] = [generator.id('key'), generator.secret('ffk')];
      const find = () => findKey(db, workspaceId, id);
      const known = await find();
      if (known) return { apiKey: known, key };
      await requireRoom(db, workspaceId);
      await db
        .insertInto('api_keys')
        .values({
          id,
          workspace_id: workspaceId,
          name,
          scopes: [...scopes],
          key_hash: hashSecret(key),
          prefix: key.slice(0, KEY_PREFIX_CHARS),
          created_at: new Date(now()),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      return { apiKey: (await find()) as ApiKey, key };
    },

    async revoke(workspaceId, id) {
      await db
        .updateTable('api_keys')
        .set({ revoked_at: new Date(now()) })
        .where('id', '=', id)
        .where('workspace_id', '=', workspaceId)
        .where('revoked_at', 'is', null)
        .execute();
      cache.forgetAll();
      const revoked = await findKey(db, workspaceId, id);
      if (!revoked) throw notInWorkspace(`API key ${id}`, '/api/admin/api-keys');
      return revoked;
    },
  };
}

function selectKeys(db: Kysely<MessagingTables>, workspaceId: string) {
  return db
    .selectFrom('api_keys')
    .select(['id', 'name', 'prefix', 'scopes', 'created_at as createdAt', 'revoked_at as revokedAt'])
    .where('workspace_id', '=', workspaceId);
}

const toApiKey = <Row extends { scopes: Scope[] | null }>(row: Row) => ({
  ...row,
  scopes: scopesOf(row.scopes),
});

async function findKey(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  id: string,
): Promise<ApiKey | undefined> {
  const row = await selectKeys(db, workspaceId).where('id', '=', id).executeTakeFirst();
  return row && toApiKey(row);
}

async function requireRoom(db: Kysely<MessagingTables>, workspaceId: string): Promise<void> {
  const { live } = await db
    .selectFrom('api_keys')
    .select(sql<number>`count(*)::int`.as('live'))
    .where('workspace_id', '=', workspaceId)
    .where('revoked_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (live < LIMITS.credentialsPerWorkspace) return;
  throw new DomainError(
    'limit_reached',
    `A workspace has at most ${LIMITS.credentialsPerWorkspace} API keys; revoke one first`,
  );
}
