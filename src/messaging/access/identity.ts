import type { Kysely } from 'kysely';
import type { MessagingTables } from '../tables';
import { type AccessTokens, createAccessTokens } from './access-tokens';
import { type ApiKeys, createApiKeys, type KeyHolder } from './api-keys';
import { createAttemptLimit } from './attempt-limit';
import { type Clients, createClients } from './clients';
import type { IdGenerator } from './id-generator';
import { PASSWORD_COST, type PasswordCost } from './passwords';
import { createSessions, type Sessions } from './sessions';
import { createUsers, type Users } from './users';
import {
  insertWorkspace,
  isEmpty,
  type NewWorkspace,
  type NewWorkspaceInput,
  planWorkspace,
} from './workspaces';

/** Who may call the service, how they prove it, and who manages that. */
export interface Identity extends AccessTokens, Sessions {
  byApiKey(key: string): Promise<KeyHolder | undefined>;
  users: Users;
  clients: Clients;
  apiKeys: ApiKeys;
  createWorkspace(input: NewWorkspaceInput, generator?: IdGenerator): Promise<NewWorkspace>;
  /** Stores a planned workspace. Has no effect when it exists already. */
  insertWorkspace(planned: NewWorkspace): Promise<void>;
  /** Whether no workspace was ever created here. */
  isEmpty(): Promise<boolean>;
}

export interface IdentityDeps {
  db: Kysely<MessagingTables>;
  now?: () => number;
  /** Cost of new passwords, and of refusing unknown users; tests use a lower one. */
  passwordCost?: PasswordCost;
}

export function createIdentity({ db, now = Date.now, passwordCost = PASSWORD_COST }: IdentityDeps): Identity {
  const attempts = createAttemptLimit(db, now);
  const tokens = createAccessTokens({ db, now, attempts });
  const sessions = createSessions({ db, now, passwordCost, attempts });
  const apiKeys = createApiKeys(db, now);
  return {
    ...tokens,
    ...sessions,
    byApiKey: apiKeys.byApiKey,
    apiKeys,
    users: createUsers({ db, now, passwordCost, onChanged: sessions.forgetSessions }),
    clients: createClients({ db, now, onEnded: tokens.forgetTokens }),
    async createWorkspace(input, generator) {
      const planned = planWorkspace(input, generator);
      await insertWorkspace(db, planned, passwordCost);
      return planned;
    },
    insertWorkspace: (planned) => insertWorkspace(db, planned, passwordCost),
    isEmpty: () => isEmpty(db),
  };
}
