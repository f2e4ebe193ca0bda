import { type Kysely, sql } from 'kysely';
import { type Role, roleOf } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { MessagingTables } from '../tables';
import { type AttemptLimit, loginSubjects } from './attempt-limit';
import { createCredentialCache } from './credential-cache';
import { type PasswordCost, verifyPassword } from './passwords';
import { hashSecret, newSecret } from './secrets';

const IDLE_MS = LIMITS.sessionIdleHours * 3_600_000;
const ABSOLUTE_MS = LIMITS.sessionDaysMax * 86_400_000;

export interface User {
  id: string;
  email: string;
  role: Role;
  workspace: { id: string; name: string };
}

export interface SessionCaller {
  workspaceId: string;
  userId: string;
  role: Role;
  via: 'cookie';
}

export interface LoginInput {
  email: string;
  password: string;
  /** Network address of the attempt; failures are counted for it as well as for the user. */
  address: string;
}

export interface Sessions {
  /** Fails in the same way for an unknown user, a disabled user and a wrong password. */
  login(input: LoginInput): Promise<{ token: string; user: User }>;
  logout(token: string): Promise<void>;
  /** Finds the session's user. This also extends a session in use. */
  bySession(token: string): Promise<SessionCaller | undefined>;
  whoAmI(userId: string): Promise<User | undefined>;
  /** Drops all cached sessions, because some were ended or a role has changed. */
  forgetSessions(): void;
}

export interface SessionsDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  passwordCost: PasswordCost;
  attempts: AttemptLimit;
}

export function createSessions({ db, now, passwordCost, attempts }: SessionsDeps): Sessions {
  const cache = createCredentialCache({ now, load });

  async function load(hash: string): Promise<SessionCaller | undefined> {
    const session = await db
      .selectFrom('sessions as s')
      .innerJoin('users as u', 'u.id', 's.user_id')
      .select(['s.user_id', 's.workspace_id', 's.created_at', 's.last_seen_at', 'u.role'])
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
    return {
      workspaceId: session.workspace_id,
      userId: session.user_id,
      role: roleOf(session.role),
      via: 'cookie',
    };
  }

  return {
    async login({ email, password, address }) {
      const user = await attempts.attempt(loginSubjects(email, address), async () => {
        const found = await findUser(db)
          .where(sql`lower(u.email)`, '=', email.toLowerCase())
          .executeTakeFirst();
        const correct = await verifyPassword(password, found?.password_hash, passwordCost);
        return correct ? found : undefined;
      });
      if (!user) throw new DomainError('unauthenticated', 'Email or password is wrong');
      return { token: await openSession(db, user, new Date(now())), user: toUser(user) };
    },
    async logout(token) {
      await db.deleteFrom('sessions').where('token_hash', '=', hashSecret(token)).execute();
      cache.forget(token);
    },
    bySession: (token) => cache.find(token),
    async whoAmI(userId) {
      const user = await findUser(db).where('u.id', '=', userId).executeTakeFirst();
      return user && toUser(user);
    },
    forgetSessions: () => cache.forgetAll(),
  };
}

function findUser(db: Kysely<MessagingTables>) {
  return db
    .selectFrom('users as u')
    .innerJoin('workspaces as w', 'w.id', 'u.workspace_id')
    .select(['u.id', 'u.email', 'u.role', 'u.password_hash', 'u.workspace_id', 'w.name as workspace_name'])
    .where('u.disabled_at', 'is', null);
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

/** Also deletes the user's expired sessions. */
async function openSession(
  db: Kysely<MessagingTables>,
  user: { id: string; workspace_id: string },
  at: Date,
): Promise<string> {
  const token = newSecret('ffu');
  await db
    .deleteFrom('sessions')
    .where('user_id', '=', user.id)
    .where((on) =>
      on.or([
        on('last_seen_at', '<', new Date(at.getTime() - IDLE_MS)),
        on('created_at', '<', new Date(at.getTime() - ABSOLUTE_MS)),
      ]),
    )
    .execute();
  await db
    .insertInto('sessions')
    .values({
      token_hash: hashSecret(token),
      user_id: user.id,
      workspace_id: user.workspace_id,
      created_at: at,
      last_seen_at: at,
    })
    .execute();
  return token;
}
