import { randomBytes } from 'node:crypto';
import type { Kysely } from 'kysely';
import type { AuditLog } from '../../audit/audit-log';
import type { Role } from '../../domain/access';
import type { MessagingTables } from '../model/tables';
import { type AccessTokens, createAccessTokens } from './access-tokens';
import { type ApiKeys, createApiKeys } from './api-keys';
import { createAttemptLimit } from './attempt-limit';
import { type Clients, createClients } from './clients';
import type { IdGenerator } from './id-generator';
import type { OnUnknown } from './open-session';
import { createOwnSessions, type OwnSessions } from './own-sessions';
import { PASSWORD_COST, type PasswordCost } from './passwords';
import { createSealing, type Sealing } from './sealing';
import { createSecondFactor, type SecondFactor } from './second-factor';
import { createSessions, type Sessions } from './sessions';
import { createUsers, type Users } from './users';
import {
  hasWorkspace,
  insertWorkspace,
  isEmpty,
  type ListedWorkspace,
  listWorkspaces,
  type NewWorkspace,
  type NewWorkspaceInput,
  planWorkspace,
} from './workspaces';

/** Who may call the service, how they prove it, and who manages that. */
export interface Identity extends AccessTokens, Sessions, OwnSessions {
  secondFactor: SecondFactor;
  byApiKey: ApiKeys['byApiKey'];
  users: Users;
  clients: Clients;
  apiKeys: ApiKeys;
  createWorkspace(input: NewWorkspaceInput, generator?: IdGenerator): Promise<NewWorkspace>;
  listWorkspaces(of: {
    page: number;
    limit: number;
  }): Promise<{ workspaces: ListedWorkspace[]; total: number }>;
  /** Stores a planned workspace. Has no effect when it exists already. */
  insertWorkspace(planned: NewWorkspace): Promise<void>;
  /** Whether no workspace was ever created here. */
  isEmpty(): Promise<boolean>;
  /** Whether workspaces were created here, and this one is not among them. */
  isForeign(id: string): Promise<boolean>;
}

export interface IdentityDeps {
  db: Kysely<MessagingTables>;
  now?: () => number;
  /** Cost of new passwords, and of refusing unknown users; tests use a lower one. */
  passwordCost?: PasswordCost;
  audit?: Pick<AuditLog, 'appendIn' | 'recordRepeated'>;
  /** For secrets of one-time codes. Tests do without one, whose secrets need not outlive the process. */
  sealing?: Sealing;
  /** Which users must log in with one-time codes; `admin` includes owners. */
  requireTotp?: 'none' | 'admin' | 'all';
  onUnknown?: OnUnknown;
}

const NO_SEALING: Sealing = createSealing([randomBytes(32)]);

const NOT_AUDITED: Pick<AuditLog, 'appendIn' | 'recordRepeated'> = {
  appendIn: async () => undefined,
  recordRepeated: async () => undefined,
};

export function createIdentity({
  db,
  now = Date.now,
  passwordCost = PASSWORD_COST,
  audit = NOT_AUDITED,
  sealing = NO_SEALING,
  requireTotp = 'none',
  onUnknown = () => undefined,
}: IdentityDeps): Identity {
  const attempts = createAttemptLimit(db, now);
  const tokens = createAccessTokens({ db, now, attempts, audit, onUnknown });
  const onChanged = () => sessions.forgetSessions();
  const secondFactor = createSecondFactor({ db, now, sealing, onChanged });
  const requiresTotp = (role: Role) =>
    requireTotp === 'all' || (requireTotp === 'admin' && (role === 'owner' || role === 'admin'));
  const sessions = createSessions({
    ...{ db, now, passwordCost, attempts, secondFactor, audit },
    ...{ requiresTotp, onUnknown },
  });
  const apiKeys = createApiKeys(db, now);
  return {
    ...tokens,
    ...sessions,
    ...createOwnSessions({ db, now, passwordCost, attempts, onEnded: onChanged }),
    secondFactor,
    byApiKey: apiKeys.byApiKey,
    apiKeys,
    users: createUsers({ db, now, passwordCost, onChanged }),
    clients: createClients({ db, now, onEnded: tokens.forgetTokens }),
    async createWorkspace(input, generator) {
      const planned = planWorkspace(input, generator);
      await insertWorkspace(db, planned, passwordCost);
      return planned;
    },
    listWorkspaces: (of) => listWorkspaces(db, of),
    insertWorkspace: (planned) => insertWorkspace(db, planned, passwordCost),
    isEmpty: () => isEmpty(db),
    isForeign: async (id) => !((await isEmpty(db)) || (await hasWorkspace(db, id))),
  };
}
