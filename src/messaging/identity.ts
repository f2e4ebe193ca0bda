import type { Kysely } from 'kysely';
import { type AccessTokens, createAccessTokens } from './access-tokens';
import { createCredentialCache } from './credential-cache';
import { PASSWORD_COST, type PasswordCost } from './passwords';
import { createSessions, type Sessions } from './sessions';
import type { MessagingTables } from './tables';
import {
  insertWorkspace,
  isEmpty,
  type NewWorkspace,
  type NewWorkspaceInput,
  planWorkspace,
} from './workspaces';

/** Who may call the service, and how they prove it. */
export interface Identity extends AccessTokens, Sessions {
  /** Answers the key's workspace. */
  byApiKey(key: string): Promise<string | undefined>;
  createWorkspace(input: NewWorkspaceInput): Promise<NewWorkspace>;
  /** For a workspace that was written down before it was made. Harmless when it is there already. */
  insertWorkspace(planned: NewWorkspace): Promise<void>;
  /** Nothing was ever made here. */
  isEmpty(): Promise<boolean>;
}

export interface IdentityDeps {
  db: Kysely<MessagingTables>;
  now?: () => number;
  /** Of new passwords, and of refusing unknown users; tests take less. */
  passwordCost?: PasswordCost;
}

export function createIdentity({ db, now = Date.now, passwordCost = PASSWORD_COST }: IdentityDeps): Identity {
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
    ...createSessions({ db, now, passwordCost }),
    byApiKey: async (key) => (await apiKeys.find(key))?.workspace_id,
    async createWorkspace(input) {
      const planned = planWorkspace(input);
      await insertWorkspace(db, planned, passwordCost);
      return planned;
    },
    insertWorkspace: (planned) => insertWorkspace(db, planned, passwordCost),
    isEmpty: () => isEmpty(db),
  };
}
