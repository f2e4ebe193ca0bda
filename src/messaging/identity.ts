import type { Kysely } from 'kysely';
import { type AccessTokens, createAccessTokens } from './access-tokens';
import { createCredentialCache } from './credential-cache';
import { createSessions, type Sessions } from './sessions';
import type { MessagingTables } from './tables';
import { createWorkspace, isEmpty, type NewWorkspace, type NewWorkspaceInput } from './workspaces';

/** Who may call the service, and how they prove it. */
export interface Identity extends AccessTokens, Sessions {
  /** Answers the key's workspace. */
  byApiKey(key: string): Promise<string | undefined>;
  createWorkspace(input: NewWorkspaceInput): Promise<NewWorkspace>;
  /** Nothing was ever made here. */
  isEmpty(): Promise<boolean>;
}

export interface IdentityDeps {
  db: Kysely<MessagingTables>;
  now?: () => number;
}

export function createIdentity({ db, now = Date.now }: IdentityDeps): Identity {
  const apiKeys = createCredentialCache({
    now,
    load: (hash) =>
      db
        .selectFrom('api_keys')
        .select('workspace_id')
        .where('key_hash', '=', hash)
        .where('revoked_at', 'is', null)
        .executeTakeFirst(),
  });
  return {
    ...createAccessTokens(db, now),
    ...createSessions(db, now),
    byApiKey: async (key) => (await apiKeys.find(key))?.workspace_id,
    createWorkspace: (input) => createWorkspace(db, input),
    isEmpty: () => isEmpty(db),
  };
}
