import { type Kysely, sql, type Transaction } from 'kysely';
import { SCOPES_DEFAULT, type Scope, scopesOf } from '../../domain/access';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { notInWorkspace } from '../../domain/not-in-workspace';
import type { MessagingTables } from '../model/tables';
import { type IdGenerator, RANDOM } from './id-generator';
import { isCampaignClient } from './installation-secret';
import { hashSecret } from './secrets';

const HOUR_MS = 3_600_000;

export interface ApiClient {
  id: string;
  name: string;
  scopes: readonly Scope[];
  createdAt: Date;
  disabledAt: Date | null;
  /** When a replaced secret stops being valid, if one still is. */
  oldSecretValidTill: Date | null;
}

export interface RotateInput {
  /** How long the present secrets stay valid; with 0 they stop at once. */
  overlapHours: number;
  /** Also end the tokens issued until now, for example after a theft. */
  revokeTokens: boolean;
}

/** Clients of the token endpoint, as a workspace's administrators see them. All methods fail with `not_found`. */
export interface Clients {
  /** Newest first. */
  list(
    workspaceId: string,
    page: { page: number; limit: number },
  ): Promise<{ clients: ApiClient[]; total: number }>;
  /** Returns the secret, which is never shown again. */
  create(
    workspaceId: string,
    input: { name: string; scopes?: readonly Scope[] | undefined },
    generator?: IdGenerator,
  ): Promise<{ client: ApiClient; secret: string }>;
  /**
   * Gives the client a new secret, which is never shown again. Secrets of earlier rotations keep the shorter of
   * their own time and this one's. Fails with `limit_reached` when too many are valid at the same time, and with
   * `campaigns_client` for the client that the campaigns of the workspace use.
   */
  rotate(
    workspaceId: string,
    id: string,
    input: RotateInput,
    generator?: IdGenerator,
  ): Promise<{ client: ApiClient; secret: string }>;
  /** Ends its tokens for good: at once on this process, within 5 seconds on every other. */
  disable(workspaceId: string, id: string): Promise<ApiClient>;
  enable(workspaceId: string, id: string): Promise<ApiClient>;
}

export interface ClientsDeps {
  db: Kysely<MessagingTables>;
  now: () => number;
  /** Called when tokens may have ended. */
  onEnded(): void;
}

export function createClients(deps: ClientsDeps): Clients {
  return new StoredClients(deps);
}

class StoredClients implements Clients {
  constructor(private readonly deps: ClientsDeps) {}

  readonly list: Clients['list'] = async (workspaceId, { page, limit }) => {
    const clients = await selectClients(this.deps.db, workspaceId, this.deps.now())
      .orderBy('c.id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit)
      .execute();
    return { clients: clients.map(toClient), total: await countClients(this.deps.db, workspaceId, 'all') };
  };

  readonly create: Clients['create'] = async (
    workspaceId,
    { name, scopes = SCOPES_DEFAULT },
    generator = RANDOM,
  ) => {
    const [id, secret] = [generator.id('cli'), generator.secret('ffs')];
    const client = await this.deps.db.transaction().execute(async (tx) => {
      const known = await this.find(tx, workspaceId, id);
      if (known) return known;
      if ((await countClients(tx, workspaceId, 'enabled')) >= LIMITS.credentialsPerWorkspace) {
        const message = `A workspace has at most ${LIMITS.credentialsPerWorkspace} clients that are enabled; disable one first`;
        throw new DomainError('limit_reached', message);
      }
      await tx
        .insertInto('api_clients')
        .values({
          id,
          workspace_id: workspaceId,
          name,
          scopes: [...scopes],
          created_at: new Date(this.deps.now()),
        })
        .onConflict((conflict) => conflict.doNothing())
        .execute();
      await insertSecret(tx, id, hashSecret(secret), this.deps.now());
      return this.read(tx, workspaceId, id);
    });
    return { client, secret };
  };

  readonly rotate: Clients['rotate'] = async (workspaceId, id, input, generator = RANDOM) => {
    const secret = generator.secret('ffs');
    const client = await this.deps.db.transaction().execute(async (tx) => {
      await lockClient(tx, workspaceId, id);
      refuseCampaigns(id);
      await replaceSecrets(tx, { id, hash: hashSecret(secret), nowMs: this.deps.now() }, input);
      return this.read(tx, workspaceId, id);
    });
    this.deps.onEnded();
    return { client, secret };
  };

  readonly disable: Clients['disable'] = (workspaceId, id) =>
    this.setDisabled(workspaceId, id, new Date(this.deps.now()));

  readonly enable: Clients['enable'] = (workspaceId, id) => this.setDisabled(workspaceId, id, null);

  private async find(
    on: Kysely<MessagingTables>,
    workspaceId: string,
    id: string,
  ): Promise<ApiClient | undefined> {
    const row = await selectClients(on, workspaceId, this.deps.now())
      .where('c.id', '=', id)
      .executeTakeFirst();
    return row && toClient(row);
  }

  private async read(on: Kysely<MessagingTables>, workspaceId: string, id: string): Promise<ApiClient> {
    const client = await this.find(on, workspaceId, id);
    if (!client) throw notInWorkspace(`client ${id}`, '/api/admin/clients');
    return client;
  }

  private async setDisabled(workspaceId: string, id: string, disabledAt: Date | null): Promise<ApiClient> {
    const client = await this.deps.db.transaction().execute(async (tx) => {
      await lockClient(tx, workspaceId, id);
      await tx
        .updateTable('api_clients')
        .set({
          disabled_at:
            disabledAt && sql<Date>`coalesce(disabled_at, ${disabledAt.toISOString()}::timestamptz)`,
        })
        .where('id', '=', id)
        .execute();
      if (disabledAt) await revokeTokens(tx, id, disabledAt);
      return this.read(tx, workspaceId, id);
    });
    this.deps.onEnded();
    return client;
  }
}

function selectClients(db: Kysely<MessagingTables>, workspaceId: string, nowMs: number) {
  const at = new Date(nowMs);
  return db
    .selectFrom('api_clients as c')
    .select(['c.id', 'c.name', 'c.scopes', 'c.created_at as createdAt', 'c.disabled_at as disabledAt'])
    .select((on) =>
      on
        .selectFrom('api_client_secrets as s')
        .select((of) => of.fn.max('s.valid_till').as('till'))
        .whereRef('s.client_id', '=', 'c.id')
        .where('s.valid_till', '>', at)
        .as('oldSecretValidTill'),
    )
    .where('c.workspace_id', '=', workspaceId);
}

const toClient = <Row extends { scopes: Scope[] | null }>(row: Row) => ({
  ...row,
  scopes: scopesOf(row.scopes),
});

async function countClients(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  which: 'all' | 'enabled',
): Promise<number> {
  let query = db
    .selectFrom('api_clients')
    .select(sql<number>`count(*)::int`.as('count'))
    .where('workspace_id', '=', workspaceId);
  if (which === 'enabled') query = query.where('disabled_at', 'is', null);
  return (await query.executeTakeFirstOrThrow()).count;
}

/** Locks the client, so that two changes of it run one after the other. */
async function lockClient(tx: Transaction<MessagingTables>, workspaceId: string, id: string): Promise<void> {
  const client = await tx
    .selectFrom('api_clients')
    .select('id')
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirst();
  if (!client) throw notInWorkspace(`client ${id}`, '/api/admin/clients');
}

function refuseCampaigns(id: string): void {
  if (!isCampaignClient(id)) return;
  const text = `The campaigns of this workspace use client ${id}, and its secret follows from that of the client in credentials.json; to change it, rotate that client, put its new secret there, and restart. To end its tokens, disable and enable it; disabled, it stops the campaigns`;
  throw new DomainError('campaigns_client', text);
}

async function replaceSecrets(
  tx: Transaction<MessagingTables>,
  { id, hash, nowMs }: { id: string; hash: string; nowMs: number },
  { overlapHours, revokeTokens: alsoTokens }: RotateInput,
): Promise<void> {
  const till = new Date(nowMs + overlapHours * HOUR_MS);
  const known = await tx
    .selectFrom('api_client_secrets')
    .select('secret_hash')
    .where('client_id', '=', id)
    .where((on) => on.or([on('valid_till', 'is', null), on('valid_till', '>', new Date(nowMs))]))
    .execute();
  // The call is a repetition, and the first attempt has stored the secret already.
  if (known.some(({ secret_hash }) => secret_hash === hash)) return;
  if (overlapHours > 0 && known.length >= LIMITS.clientSecretsMax) {
    const message = `Client ${id} has ${known.length} secrets that work; wait for one to end, or rotate with overlapHours 0`;
    throw new DomainError('limit_reached', message);
  }
  await tx
    .updateTable('api_client_secrets')
    .set({ valid_till: sql<Date>`least(valid_till, ${till.toISOString()}::timestamptz)` })
    .where('client_id', '=', id)
    .execute();
  await tx
    .deleteFrom('api_client_secrets')
    .where('client_id', '=', id)
    .where('valid_till', '<=', new Date(nowMs))
    .execute();
  await insertSecret(tx, id, hash, nowMs);
  if (alsoTokens) await revokeTokens(tx, id, new Date(nowMs));
}

async function insertSecret(
  tx: Transaction<MessagingTables>,
  clientId: string,
  hash: string,
  nowMs: number,
): Promise<void> {
  await tx
    .insertInto('api_client_secrets')
    .values({ client_id: clientId, secret_hash: hash, created_at: new Date(nowMs) })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

async function revokeTokens(tx: Transaction<MessagingTables>, clientId: string, at: Date): Promise<void> {
  await tx
    .updateTable('access_tokens')
    .set({ revoked_at: at })
    .where('client_id', '=', clientId)
    .where('revoked_at', 'is', null)
    .execute();
}
