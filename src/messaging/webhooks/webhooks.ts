import { type Kysely, type Selectable, sql, type Transaction } from 'kysely';
import type { WebhookChange, WebhookDeliveryQuery, WebhookInput } from '../../contracts/webhooks';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { notInWorkspace } from '../../domain/not-in-workspace';
import { type DisabledReason, wantsMessages } from '../../domain/webhook';
import { type IdGenerator, RANDOM } from '../access/id-generator';
import type { Sealing } from '../access/sealing';
import type { MessagingTables } from '../model/tables';
import {
  insertTest,
  listDeliveries,
  redeliverFailed,
  redeliverOne,
  type WebhookDelivery,
} from './deliveries';
import { openSecrets, sealSecrets } from './sealed-secrets';
import { newSigningSecret, type SigningSecret } from './signature';
import type { TargetGuard } from './target-guard';

export interface Webhook {
  id: string;
  url: string;
  events: string[];
  description: string | null;
  enabled: boolean;
  disabledAt: Date | null;
  disabledReason: DisabledReason | null;
  failingSince: Date | null;
  pausedUntil: Date | null;
  lastSuccessAt: Date | null;
  oldSecretValidTill: Date | null;
  pending: number;
  unread: number;
  missed: number;
  createdAt: Date;
  updatedAt: Date;
}

/** A workspace's endpoints, as their owner sees them. All methods fail with `not_found`. */
export interface Webhooks {
  /** Newest first. */
  list(
    workspaceId: string,
    page: { page: number; limit: number },
  ): Promise<{ webhooks: Webhook[]; total: number }>;
  read(workspaceId: string, id: string): Promise<Webhook>;
  /** The endpoint gets events from now on. The secret is returned and never shown again. */
  create(
    workspaceId: string,
    input: WebhookInput,
    generator?: IdGenerator,
  ): Promise<{ webhook: Webhook; secret: string }>;
  /**
   * An endpoint that is enabled again gets events from then on, and the deliveries that waited when it was
   * disabled.
   */
  change(workspaceId: string, id: string, change: WebhookChange): Promise<Webhook>;
  delete(workspaceId: string, id: string): Promise<void>;
  /** For one day, deliveries are signed with the former secret too. */
  rotateSecret(
    workspaceId: string,
    id: string,
    generator?: IdGenerator,
  ): Promise<{ webhook: Webhook; secret: string }>;
  /** Sends it `webhook.test`, whatever it has subscribed to. */
  test(workspaceId: string, id: string, generator?: IdGenerator): Promise<WebhookDelivery>;
  deliveries(
    workspaceId: string,
    id: string,
    query: WebhookDeliveryQuery,
  ): Promise<{ deliveries: WebhookDelivery[]; next: string | null }>;
  /** Sends it again, starting with the first attempt, under the same id. */
  redeliver(workspaceId: string, id: string, deliveryId: string): Promise<WebhookDelivery>;
  redeliverFailed(
    workspaceId: string,
    id: string,
    since: string | undefined,
  ): Promise<{ redelivered: number; more: boolean }>;
}

const HOUR_MS = 3_600_000;

interface WebhooksDeps {
  db: Kysely<MessagingTables>;
  guard: TargetGuard;
  sealing: Sealing;
  /** There is work to do, or the endpoints have changed. */
  onChanged: () => void;
  now?: () => number;
}

export function createWebhooks(deps: WebhooksDeps): Webhooks {
  return new StoredWebhooks(deps);
}

class StoredWebhooks implements Webhooks {
  private readonly now: () => number;

  constructor(private readonly deps: WebhooksDeps) {
    this.now = deps.now ?? Date.now;
  }

  readonly list: Webhooks['list'] = async (workspaceId, { page, limit }) => {
    const rows = await selectWebhooks(this.deps.db, workspaceId)
      .orderBy('w.id', 'desc')
      .limit(limit)
      .offset((page - 1) * limit)
      .execute();
    return {
      webhooks: rows.map((row) => toWebhook(row, this.now())),
      total: await countWebhooks(this.deps.db, workspaceId),
    };
  };

  readonly read: Webhooks['read'] = (workspaceId, id) => this.readWebhook(this.deps.db, workspaceId, id);

  readonly create: Webhooks['create'] = async (workspaceId, input, generator = RANDOM) => {
    this.deps.guard.refuseLiteral(new URL(input.url));
    const [id, secret] = [generator.id('whk'), newSigningSecret(generator)];
    const webhook = await this.deps.db.transaction().execute(async (tx) => {
      const known = await this.find(tx, workspaceId, id);
      if (known) return known;
      if ((await countWebhooks(tx, workspaceId)) >= LIMITS.webhooksPerWorkspace) {
        const message = `A workspace has at most ${LIMITS.webhooksPerWorkspace} webhooks; delete one first`;
        throw new DomainError('limit_reached', message);
      }
      await insertWebhook(tx, this.deps.sealing, workspaceId, { ...input, id, secret });
      return this.readWebhook(tx, workspaceId, id);
    });
    this.deps.onChanged();
    return { webhook, secret };
  };

  readonly change: Webhooks['change'] = async (workspaceId, id, change) => {
    if (change.url !== undefined) this.deps.guard.refuseLiteral(new URL(change.url));
    const webhook = await this.deps.db.transaction().execute(async (tx) => {
      const before = await lockWebhook(tx, workspaceId, id);
      await updateWebhook(tx, before, change);
      return this.readWebhook(tx, workspaceId, id);
    });
    this.deps.onChanged();
    return webhook;
  };

  readonly delete: Webhooks['delete'] = async (workspaceId, id) => {
    const { numUpdatedRows } = await this.deps.db
      .updateTable('webhooks')
      // It may have many deliveries, so that the sweep deletes them in steps.
      .set({
        deleted_at: sql<Date>`now()`,
        disabled_at: sql<Date>`coalesce(disabled_at, now())`,
        signing_secrets: '[]',
      })
      .where('id', '=', id)
      .where('workspace_id', '=', workspaceId)
      .where('deleted_at', 'is', null)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) throw notInWorkspace(`webhook ${id}`, '/api/webhook');
    this.deps.onChanged();
  };

  readonly rotateSecret: Webhooks['rotateSecret'] = async (workspaceId, id, generator = RANDOM) => {
    const secret = newSigningSecret(generator);
    const webhook = await this.deps.db.transaction().execute(async (tx) => {
      const before = await lockWebhook(tx, workspaceId, id);
      const secrets = rotated(formerSecrets(this.deps.sealing, before), secret, { id, nowMs: this.now() });
      const sealed = sealSecrets(this.deps.sealing, id, secrets);
      await tx
        .updateTable('webhooks')
        .set({
          signing_secrets: JSON.stringify(sealed),
          key_id: this.deps.sealing.keyId,
          updated_at: sql<Date>`now()`,
        })
        .where('id', '=', id)
        .execute();
      return this.readWebhook(tx, workspaceId, id);
    });
    return { webhook, secret };
  };

  readonly test: Webhooks['test'] = async (workspaceId, id, generator = RANDOM) => {
    await this.readEnabled(workspaceId, id);
    const delivery = await insertTest(this.deps.db, id, generator.id('whd'), this.now());
    this.deps.onChanged();
    return delivery;
  };

  readonly deliveries: Webhooks['deliveries'] = async (workspaceId, id, query) => {
    await this.readWebhook(this.deps.db, workspaceId, id);
    return listDeliveries(this.deps.db, id, query);
  };

  readonly redeliver: Webhooks['redeliver'] = async (workspaceId, id, deliveryId) => {
    await this.readEnabled(workspaceId, id);
    const delivery = await redeliverOne(this.deps.db, id, deliveryId);
    this.deps.onChanged();
    return delivery;
  };

  readonly redeliverFailed: Webhooks['redeliverFailed'] = async (workspaceId, id, since) => {
    await this.readEnabled(workspaceId, id);
    const answer = await redeliverFailed(this.deps.db, id, since);
    this.deps.onChanged();
    return answer;
  };

  private async find(on: Kysely<MessagingTables>, workspaceId: string, id: string) {
    const row = await selectWebhooks(on, workspaceId).where('w.id', '=', id).executeTakeFirst();
    return row && toWebhook(row, this.now());
  }

  private async readWebhook(on: Kysely<MessagingTables>, workspaceId: string, id: string): Promise<Webhook> {
    const webhook = await this.find(on, workspaceId, id);
    if (!webhook) throw notInWorkspace(`webhook ${id}`, '/api/webhook');
    return webhook;
  }

  private async readEnabled(workspaceId: string, id: string): Promise<void> {
    const { enabled } = await this.readWebhook(this.deps.db, workspaceId, id);
    if (enabled) return;
    const message = `Webhook ${id} is disabled; enable it first, then nothing that waits is lost`;
    throw new DomainError('webhook_disabled', message);
  }
}

function selectWebhooks(db: Kysely<MessagingTables>, workspaceId: string) {
  return (
    db
      .selectFrom('webhooks as w')
      .selectAll('w')
      // Both numbers are cheap: the backlog has a limit, and the feed's head is one row.
      .select([
        sql<number>`(
        select count(*)::int from webhook_deliveries d where d.webhook_id = w.id and d.due_at is not null
      )`.as('pending'),
        sql<number>`coalesce((
        select h.next_seq - 1 - w.after_seq from event_heads h where h.workspace_id = w.workspace_id
      ), 0)`.as('unread'),
      ])
      .where('w.workspace_id', '=', workspaceId)
      .where('w.deleted_at', 'is', null)
  );
}

async function countWebhooks(db: Kysely<MessagingTables>, workspaceId: string): Promise<number> {
  const { total } = await db
    .selectFrom('webhooks')
    .select(sql<number>`count(*)::int`.as('total'))
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .executeTakeFirstOrThrow();
  return total;
}

async function insertWebhook(
  tx: Transaction<MessagingTables>,
  sealing: Sealing,
  workspaceId: string,
  { id, url, events, description, secret }: WebhookInput & { id: string; secret: string },
): Promise<void> {
  const sealed = sealSecrets(sealing, id, [{ secret, validTill: null }]);
  await sql`
    insert into webhooks (id, workspace_id, url, events, description, signing_secrets, key_id, after_seq)
    values (${id}, ${workspaceId}, ${url}, ${events}::text[], ${description ?? null},
      ${JSON.stringify(sealed)}::jsonb, ${sealing.keyId}, ${endOfFeed(workspaceId)})
    on conflict (id) do nothing`.execute(tx);
}

async function lockWebhook(
  tx: Transaction<MessagingTables>,
  workspaceId: string,
  id: string,
): Promise<Selectable<MessagingTables['webhooks']>> {
  const row = await tx
    .selectFrom('webhooks')
    .selectAll()
    .where('id', '=', id)
    .where('workspace_id', '=', workspaceId)
    .where('deleted_at', 'is', null)
    .forUpdate()
    .executeTakeFirst();
  if (!row) throw notInWorkspace(`webhook ${id}`, '/api/webhook');
  return row;
}

/** An endpoint that was not subscribed to messages, or was disabled, begins at the present end of the feed. */
async function updateWebhook(
  tx: Transaction<MessagingTables>,
  before: Selectable<MessagingTables['webhooks']>,
  { url, events, description, enabled }: WebhookChange,
): Promise<void> {
  const wasDisabled = before.disabled_at !== null;
  const comesBack = enabled === true && wasDisabled;
  const moves = url !== undefined && url !== before.url;
  const begins =
    comesBack || (events !== undefined && wantsMessages(events) && !wantsMessages(before.events));
  await tx
    .updateTable('webhooks')
    .set({
      ...(url === undefined ? {} : { url }),
      ...(events === undefined ? {} : { events }),
      ...(description === undefined ? {} : { description }),
      ...(enabled === true ? { disabled_at: null, disabled_reason: null } : {}),
      // Failures of the former address say nothing about a new one, or about one that was repaired.
      ...(comesBack || moves ? { failing_since: null, paused_until: null } : {}),
      ...(enabled === false && !wasDisabled
        ? { disabled_at: sql<Date>`now()`, disabled_reason: 'user' }
        : {}),
      ...(begins ? { after_seq: endOfFeed(before.workspace_id) } : {}),
      updated_at: sql<Date>`now()`,
    })
    .where('id', '=', before.id)
    .execute();
  if (comesBack || moves) await makeWaitingDue(tx, before.id);
}

/** Without the failures, nothing says later that the endpoint was away, and deliveries would wait for up to a day. */
async function makeWaitingDue(tx: Transaction<MessagingTables>, webhookId: string): Promise<void> {
  await tx
    .updateTable('webhook_deliveries')
    .set({ due_at: sql<Date>`now()` })
    .where('webhook_id', '=', webhookId)
    .where('due_at', '>', sql<Date>`now()`)
    .where('claimed', '=', false)
    .execute();
}

const endOfFeed = (workspaceId: string) => sql<number>`coalesce((
  select next_seq - 1 from event_heads where workspace_id = ${workspaceId}), 0)`;

/** Secrets that cannot be decrypted any more are replaced, which repairs an endpoint that reports `no_secret`. */
function formerSecrets(
  sealing: Sealing,
  { id, key_id: keyId, signing_secrets: sealed }: Selectable<MessagingTables['webhooks']>,
): SigningSecret[] {
  try {
    return openSecrets(sealing, id, { keyId, sealed });
  } catch (error) {
    // Other processes may have the key, so the secrets must not be replaced.
    if (keyId === null || !sealing.keyIds.includes(keyId)) throw error;
    return [];
  }
}

function rotated(
  secrets: readonly SigningSecret[],
  secret: string,
  { id, nowMs }: { id: string; nowMs: number },
): SigningSecret[] {
  // The call is a repetition, and the first attempt has stored the secret already.
  if (secrets.some((known) => known.secret === secret)) return [...secrets];
  const till = new Date(nowMs + LIMITS.webhookSecretOverlapHours * HOUR_MS).toISOString();
  const working = secrets.filter(({ validTill }) => validTill === null || Date.parse(validTill) > nowMs);
  if (working.length >= LIMITS.webhookSecrets) {
    const message = `Webhook ${id} has ${working.length} secrets that sign; wait for one to end`;
    throw new DomainError('limit_reached', message);
  }
  const replaced = working.map((known) => ({ ...known, validTill: known.validTill ?? till }));
  return [{ secret, validTill: null }, ...replaced];
}

function toWebhook(
  row: Selectable<MessagingTables['webhooks']> & { pending: number; unread: number },
  nowMs: number,
): Webhook {
  const till = row.signing_secrets.map(({ validTill }) => (validTill === null ? 0 : Date.parse(validTill)));
  const oldestTill = Math.max(0, ...till);
  return {
    id: row.id,
    url: row.url,
    events: row.events,
    description: row.description,
    enabled: row.disabled_at === null,
    disabledAt: row.disabled_at,
    disabledReason: row.disabled_reason,
    failingSince: row.failing_since,
    pausedUntil: row.paused_until && row.paused_until.getTime() > nowMs ? row.paused_until : null,
    lastSuccessAt: row.last_success_at,
    oldSecretValidTill: oldestTill > nowMs ? new Date(oldestTill) : null,
    pending: row.pending,
    unread: row.disabled_at === null && wantsMessages(row.events) ? Math.max(0, row.unread) : 0,
    missed: row.missed,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}
