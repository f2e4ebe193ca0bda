import { type Kysely, sql, type Transaction } from 'kysely';
import type { Role } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { MessagingTables } from '../model/tables';
import { type IdGenerator, RANDOM } from './id-generator';
import { hashPassword, type PasswordCost } from './passwords';

export interface UserRecord {
  id: string;
  email: string;
  role: Role;
  createdAt: Date;
  disabledAt: Date | null;
}

/** The user who asks for a change. Only an owner may make another user an owner, because owners create workspaces. */
export interface Actor {
  workspaceId: string;
  role: Role;
}

/**
 * A workspace's users, as its administrators see them. Fails with `not_found`, with `forbidden` where an owner
 * is needed, and with `last_admin` when no administrator would be left.
 */
export interface Users {
  list(
    workspaceId: string,
    query: { page: number; limit: number; search?: string | undefined },
  ): Promise<{ users: UserRecord[]; total: number }>;
  /**
   * Without a password, a strong one is generated and returned; it is never shown again. Fails with
   * `name_taken` for an email address that any user of the installation has, because users log in with it.
   */
  create(
    actor: Actor,
    input: { email: string; role: Role; password?: string | undefined },
    generator?: IdGenerator,
  ): Promise<{ user: UserRecord; password: string }>;
  /** Whether a user of the workspace, one who is not disabled, logs in with this email address. */
  isAddress(workspaceId: string, email: string): Promise<boolean>;
  setRole(actor: Actor, id: string, role: Role): Promise<UserRecord>;
  /** Also ends the user's sessions: at once on this process, within 5 seconds on every other. */
  disable(actor: Actor, id: string): Promise<UserRecord>;
  enable(actor: Actor, id: string): Promise<UserRecord>;
  /** Also ends the user's sessions. */
  resetPassword(
    actor: Actor,
    id: string,
    input: { password?: string | undefined },
    generator?: IdGenerator,
  ): Promise<{ user: UserRecord; password: string }>;
}

export interface UsersDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  passwordCost: PasswordCost;
  /** Called when sessions may have ended or have another role. */
  onChanged(): void;
}

type Change = Partial<{ role: Role; disabled_at: Date | null; password_hash: string }>;

export function createUsers({ db, now, passwordCost, onChanged }: UsersDeps): Users {
  async function change(actor: Actor, id: string, changes: Change): Promise<UserRecord> {
    const user = await db.transaction().execute(async (tx) => {
      const before = await lockForChange(tx, actor, id);
      refuseUnlessOwner(actor, before.user.role, changes.role);
      refuseLockOut(before, changes);
      if (changes.disabled_at && before.user.disabledAt) return before.user;
      await tx.updateTable('users').set(changes).where('id', '=', id).execute();
      if (changes.disabled_at || changes.password_hash) {
        await tx.deleteFrom('sessions').where('user_id', '=', id).execute();
      }
      return { ...before.user, role: changes.role ?? before.user.role, ...disabledIn(changes) };
    });
    onChanged();
    return user;
  }

  return {
    list: (workspaceId, query) => listUsers(db, workspaceId, query),

    async create(actor, { email, role, password: chosen }, generator = RANDOM) {
      refuseUnlessOwner(actor, role);
      const [id, password] = [generator.id('usr'), chosen ?? generator.password()];
      const find = () => selectUsers(db, actor.workspaceId).where('id', '=', id).executeTakeFirst();
      const known = await find();
      if (known) return { user: known, password };
      await requireRoom(db, actor.workspaceId);
      await db
        .insertInto('users')
        .values({
          id,
          workspace_id: actor.workspaceId,
          email,
          role,
          password_hash: await hashPassword(password, passwordCost),
          created_at: new Date(now()),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      const user = await find();
      if (!user)
        throw new DomainError(
          'name_taken',
          'A user with this email address exists already; choose another address',
        );
      return { user, password };
    },

    async isAddress(workspaceId, email) {
      const found = await selectUsers(db, workspaceId)
        .where(sql`lower(email)`, '=', email.trim().toLowerCase())
        .where('disabled_at', 'is', null)
        .executeTakeFirst();
      return found !== undefined;
    },
    setRole: (actor, id, role) => change(actor, id, { role }),
    disable: (actor, id) => change(actor, id, { disabled_at: new Date(now()) }),
    enable: (actor, id) => change(actor, id, { disabled_at: null }),

    async resetPassword(actor, id, { password: chosen }, generator = RANDOM) {
      // Check first, because hashing is expensive.
      const known = await selectUsers(db, actor.workspaceId).where('id', '=', id).executeTakeFirst();
      if (!known) throw noUser(id);
      const password = chosen ?? generator.password();
      const password_hash = await hashPassword(password, passwordCost);
      return { user: await change(actor, id, { password_hash }), password };
    },
  };
}

const ADMINISTERS: readonly Role[] = ['owner', 'admin'];

interface BeforeChange {
  user: UserRecord;
  /** The other administrators of the workspace. */
  others: UserRecord[];
}

/**
 * Locks the user together with all administrators, in one order. If two administrators demote each other, the
 * second one sees the first change.
 */
async function lockForChange(
  tx: Transaction<MessagingTables>,
  { workspaceId }: Actor,
  id: string,
): Promise<BeforeChange> {
  const rows = await selectUsers(tx, workspaceId)
    .where((on) =>
      on.or([on('id', '=', id), on.and([on('role', 'in', ADMINISTERS), on('disabled_at', 'is', null)])]),
    )
    .orderBy('id')
    .forUpdate()
    .execute();
  const user = rows.find((row) => row.id === id);
  if (!user) throw noUser(id);
  return { user, others: rows.filter((row) => row.id !== id) };
}

function refuseUnlessOwner(actor: Actor, ...roles: (Role | undefined)[]): void {
  if (actor.role === 'owner' || !roles.includes('owner')) return;
  throw new DomainError('forbidden', 'Only an owner can make or change an owner; ask one to do it');
}

function refuseLockOut({ user, others }: BeforeChange, changes: Change): void {
  if (user.disabledAt || !ADMINISTERS.includes(user.role)) return;
  const role = changes.disabled_at ? undefined : (changes.role ?? user.role);
  if (!(role && ADMINISTERS.includes(role)) && others.length === 0) {
    throw new DomainError(
      'last_admin',
      'This is the last user who can administer the workspace; give another user the role admin first',
    );
  }
  if (user.role === 'owner' && role !== 'owner' && !others.some((other) => other.role === 'owner')) {
    throw new DomainError(
      'last_admin',
      'This is the last owner, and only owners create workspaces; give another user the role owner first',
    );
  }
}

const disabledIn = (changes: Change) =>
  changes.disabled_at === undefined ? {} : { disabledAt: changes.disabled_at };

function selectUsers(db: Kysely<MessagingTables>, workspaceId: string) {
  return (
    db
      .selectFrom('users')
      .select(['id', 'email', 'created_at as createdAt', 'disabled_at as disabledAt'])
      // As roleOf() of domain/access.ts reads it.
      .select(sql<Role>`case role when 'member' then 'sender' else role end`.as('role'))
      .where('workspace_id', '=', workspaceId)
  );
}

/** Newest first. A search finds parts of the email address in any case. */
async function listUsers(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  { page, limit, search }: { page: number; limit: number; search?: string | undefined },
): Promise<{ users: UserRecord[]; total: number }> {
  const found = sql<boolean>`strpos(lower(email), ${(search ?? '').toLowerCase()}) > 0`;
  const users = await selectUsers(db, workspaceId)
    .where(found)
    .orderBy('id', 'desc')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute();
  const { total } = await db
    .selectFrom('users')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('workspace_id', '=', workspaceId)
    .where(found)
    .executeTakeFirstOrThrow();
  return { users, total };
}

async function requireRoom(db: Kysely<MessagingTables>, workspaceId: string): Promise<void> {
  const { enabled } = await db
    .selectFrom('users')
    .select(sql<number>`count(*)::int`.as('enabled'))
    .where('workspace_id', '=', workspaceId)
    .where('disabled_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (enabled < LIMITS.credentialsPerWorkspace) return;
  const message = `A workspace has at most ${LIMITS.credentialsPerWorkspace} users who are not disabled; disable one first`;
  throw new DomainError('limit_reached', message);
}

const noUser = (id: string) => notInWorkspace(`user ${id}`, '/api/admin/users');
