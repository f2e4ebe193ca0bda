import { type Kysely, sql } from 'kysely';
import type { AuditLog } from '../../audit/audit-log';
import type { AuditEvent } from '../../audit/entry';
import { type Role, roleOf } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { MaybePromise } from '../../domain/maybe-promise';
import type { MessagingTables } from '../model/tables';
import { type AttemptLimit, loginSubjects } from './attempt-limit';
import { createCredentialCache } from './credential-cache';
import {
  ABSOLUTE_MS,
  IDLE_MS,
  type LoginOrigin,
  type LoginProof,
  loginEvent,
  type OnUnknown,
  openSession,
  UNKNOWN_ORIGIN,
} from './open-session';
import { type PasswordCost, verifyPassword } from './passwords';
import type { SecondFactor } from './second-factor';
import { hashSecret } from './secrets';

export interface User {
  id: string;
  email: string;
  role: Role;
  workspace: { id: string; name: string };
}

export interface SessionCaller {
  workspaceId: string;
  userId: string;
  sessionId: string;
  role: Role;
  /** One-time codes are demanded of this role, and the user has none yet: all that is allowed is to set them up. */
  mustEnrol: boolean;
  via: 'cookie';
}

export interface LoginInput {
  email: string;
  password: string;
  /** A one-time code or a recovery code, for users who have turned them on. */
  totp?: string | undefined;
  /** Network address of the attempt; failures are counted for it as well as for the user. */
  address: string;
  origin?: LoginOrigin;
}

export interface Sessions {
  /**
   * Fails in the same way for an unknown user, a disabled user, a wrong password and a wrong code; with
   * `totp_required` where the password is right and a code is needed and missing.
   */
  login(input: LoginInput): Promise<{ token: string; user: User }>;
  /** For a user with this email address, which an OpenID provider has verified. Undefined if there is none. */
  loginByProvider(email: string, origin: LoginOrigin): Promise<string | undefined>;
  logout(token: string): Promise<void>;
  /** Finds the session's user. This also extends a session in use. */
  bySession(token: string): MaybePromise<SessionCaller | undefined>;
  whoAmI(userId: string): Promise<User | undefined>;
  /** Drops all cached sessions, because some were ended or a role has changed. */
  forgetSessions(): void;
}

export interface SessionsDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  passwordCost: PasswordCost;
  attempts: AttemptLimit;
  secondFactor: Pick<SecondFactor, 'verify'>;
  audit: Pick<AuditLog, 'appendIn' | 'recordRepeated'>;
  /** Whether users with this role need one-time codes. */
  requiresTotp(role: Role): boolean;
  onUnknown: OnUnknown;
}

export function createSessions(deps: SessionsDeps): Sessions {
  const { db, now } = deps;
  const cache = createCredentialCache({ now, load });

  async function load(hash: string): Promise<SessionCaller | undefined> {
    const session = await db
      .selectFrom('sessions as s')
      .innerJoin('users as u', 'u.id', 's.user_id')
      .leftJoin('totp_secrets as t', 't.user_id', 's.user_id')
      .select(['s.id', 's.user_id', 's.workspace_id', 's.created_at', 's.last_seen_at', 'u.role'])
      .select(['s.by_provider', 't.confirmed_at'])
      .where('s.token_hash', '=', hash)
      .where('u.disabled_at', 'is', null)
      .executeTakeFirst();
    if (!session) return undefined;
    const idleMs = now() - session.last_seen_at.getTime();
    if (idleMs >= IDLE_MS || now() - session.created_at.getTime() >= ABSOLUTE_MS) return undefined;
    if (idleMs >= LIMITS.sessionTouchSeconds * 1_000) {
      const seen = { last_seen_at: new Date(now()) };
      await db.updateTable('sessions').set(seen).where('token_hash', '=', hash).execute();
    }
    const { id: sessionId, workspace_id: workspaceId, user_id: userId } = session;
    const role = roleOf(session.role);
    const mustEnrol = !session.confirmed_at && !session.by_provider && deps.requiresTotp(role);
    return { workspaceId, userId, sessionId, role, mustEnrol, via: 'cookie' };
  }

  return {
    login: (input) => logIn(deps, input),
    async loginByProvider(email, origin) {
      const user = await findUser(db).where(sql`lower(u.email)`, '=', email.toLowerCase()).executeTakeFirst();
      if (!user) return undefined;
      const proof = { by: 'oidc' } as const;
      if (!user.disabled_at) return openSession(db, deps.audit, user, { at: new Date(now()), origin, proof });
      await deps.audit.recordRepeated(loginEvent(user, origin, 'refused', { ...proof, disabled: true }));
      return undefined;
    },
    async logout(token) {
      await db.deleteFrom('sessions').where('token_hash', '=', hashSecret(token)).execute();
      cache.forget(token);
    },
    bySession: (token) => cache.find(token),
    async whoAmI(userId) {
      const user = await findUser(db)
        .where('u.id', '=', userId)
        .where('u.disabled_at', 'is', null)
        .executeTakeFirst();
      return user && toUser(user);
    },
    forgetSessions: () => cache.forgetAll(),
  };
}

async function logIn(
  { db, now, passwordCost, attempts, audit, secondFactor, onUnknown }: SessionsDeps,
  { email, password, totp, address, origin = UNKNOWN_ORIGIN }: LoginInput,
): Promise<{ token: string; user: User }> {
  let known: Awaited<ReturnType<typeof find>>;
  const find = () => findUser(db).where(sql`lower(u.email)`, '=', email.toLowerCase()).executeTakeFirst();
  const proved = await attempts.attempt(loginSubjects(email, address), async () => {
    known = await find();
    const correct = await verifyPassword(password, known?.password_hash, passwordCost);
    if (!correct || !known || known.disabled_at) return undefined;
    const code = await secondFactor.verify(known.id, totp);
    return code === 'wrong' ? undefined : { user: known, code };
  });
  if (!proved) {
    // Not waited for, so that the time of the answer does not reveal which users exist.
    const detail: AuditEvent['detail'] = known?.disabled_at ? { disabled: true } : {};
    if (known) void audit.recordRepeated(loginEvent(known, origin, 'refused', detail));
    else onUnknown('user', origin.requestId);
    throw wrongCredentials();
  }
  const { user, code } = proved;
  if (code === 'missing') {
    // The console asks without a code first. Without one after it, a person knows the password and not the code.
    await audit.recordRepeated(loginEvent(user, origin, 'refused', { factor: 'missing' }));
    throw new DomainError('totp_required', 'A one-time code is needed as well: `totp`');
  }
  const by = 'password' as const;
  const proof: LoginProof = code === 'totp' || code === 'recovery_code' ? { by, factor: code } : { by };
  const token = await openSession(db, audit, user, { at: new Date(now()), origin, proof });
  if (token === undefined) {
    void audit.recordRepeated(loginEvent(user, origin, 'refused', {}));
    throw wrongCredentials();
  }
  return { token, user: toUser(user) };
}

const wrongCredentials = () => new DomainError('unauthenticated', 'Email or password is wrong');

/** Disabled users too, because the audit log records their attempts. */
function findUser(db: Kysely<MessagingTables>) {
  return db
    .selectFrom('users as u')
    .innerJoin('workspaces as w', 'w.id', 'u.workspace_id')
    .select(['u.id', 'u.email', 'u.role', 'u.password_hash', 'u.disabled_at', 'u.workspace_id'])
    .select('w.name as workspace_name');
}

function toUser(row: {
  id: string;
  email: string;
  role: Role | 'member';
  workspace_id: string;
  workspace_name: string;
}): User {
  const { id, email, role } = row;
  return { id, email, role: roleOf(role), workspace: { id: row.workspace_id, name: row.workspace_name } };
}
