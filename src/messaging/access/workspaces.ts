import { type Kysely, sql, type Transaction } from 'kysely';
import type { Role } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';
import { KEY_PREFIX_CHARS } from './api-keys';
import { type IdGenerator, RANDOM } from './id-generator';
import { hashPassword, type PasswordCost } from './passwords';
import { hashSecret } from './secrets';

export interface NewWorkspaceInput {
  name: string;
  /** Email address of the workspace's first user. */
  email: string;
  /** Without one, a strong one is generated. */
  password?: string | undefined;
}

/** Everything a new customer needs to begin. The secrets are never shown again. */
export interface NewWorkspace {
  workspace: { id: string; name: string };
  user: { id: string; email: string; password: string };
  client: { id: string; secret: string };
  apiKey: string;
}

export async function isEmpty(db: Kysely<MessagingTables>): Promise<boolean> {
  return (await db.selectFrom('workspaces').select('id').limit(1).executeTakeFirst()) === undefined;
}

export async function hasWorkspace(db: Kysely<MessagingTables>, id: string): Promise<boolean> {
  const known = await db.selectFrom('workspaces').select('id').where('id', '=', id).executeTakeFirst();
  return known !== undefined;
}

export interface ListedWorkspace {
  id: string;
  name: string;
  createdAt: Date;
}

/** All workspaces of the installation, newest first. */
export async function listWorkspaces(
  db: Kysely<MessagingTables>,
  { page, limit }: { page: number; limit: number },
): Promise<{ workspaces: ListedWorkspace[]; total: number }> {
  const workspaces = await db
    .selectFrom('workspaces')
    .select(['id', 'name', 'created_at as createdAt'])
    .orderBy('id', 'desc')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute();
  const { total } = await db
    .selectFrom('workspaces')
    .select(sql<number>`count(*)::int`.as('total'))
    .executeTakeFirstOrThrow();
  return { workspaces, total };
}

/** A workspace with its secrets, in memory only, so that the caller can record it before it is created. */
export function planWorkspace(input: NewWorkspaceInput, generator: IdGenerator = RANDOM): NewWorkspace {
  const { name, email, password = generator.password() } = input;
  return {
    workspace: { id: generator.id('ws'), name },
    user: { id: generator.id('usr'), email, password },
    client: { id: generator.id('cli'), secret: generator.secret('ffs') },
    apiKey: generator.secret('ffk'),
  };
}

/**
 * Stores all of it or nothing, and nothing when it exists already. The first user of an installation becomes
 * its owner.
 */
export async function insertWorkspace(
  db: Kysely<MessagingTables>,
  planned: NewWorkspace,
  passwordCost: PasswordCost,
): Promise<void> {
  const passwordHash = await hashPassword(planned.user.password, passwordCost);
  await db.transaction().execute(async (tx) => {
    // Without the lock, two first workspaces created at once would both find the installation empty.
    await sql`lock table workspaces in share row exclusive mode`.execute(tx);
    if (await hasWorkspace(tx, planned.workspace.id)) return;
    const role: Role = (await isEmpty(tx)) ? 'owner' : 'admin';
    await insertAll(tx, planned, { role, passwordHash });
  });
}

async function insertAll(
  tx: Transaction<MessagingTables>,
  { workspace, user, client, apiKey }: NewWorkspace,
  { role, passwordHash }: { role: Role; passwordHash: string },
): Promise<void> {
  const workspace_id = workspace.id;
  await tx.insertInto('workspaces').values({ id: workspace.id, name: workspace.name }).execute();
  const inserted = await tx
    .insertInto('users')
    .values({ id: user.id, workspace_id, email: user.email, role, password_hash: passwordHash })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (Number(inserted.numInsertedOrUpdatedRows) === 0) {
    throw new DomainError(
      'name_taken',
      'A user with this email address exists already; choose another address',
    );
  }
  await tx.insertInto('api_clients').values({ id: client.id, workspace_id, name: 'First client' }).execute();
  await tx
    .insertInto('api_client_secrets')
    .values({ client_id: client.id, secret_hash: hashSecret(client.secret) })
    .execute();
  await tx
    .insertInto('api_keys')
    .values({
      id: newId('key'),
      workspace_id,
      name: 'First key',
      key_hash: hashSecret(apiKey),
      prefix: apiKey.slice(0, KEY_PREFIX_CHARS),
    })
    .execute();
  await tx.insertInto('event_heads').values({ workspace_id, next_seq: 1 }).execute();
}
