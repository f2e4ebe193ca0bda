import { type Kysely, type Selectable, sql } from 'kysely';
import type { SenderInput } from '../../contracts/senders';
import type { Channel } from '../../domain/channel';
import { DomainError, type FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import {
  type RegisteredSender,
  registeredKey,
  type SenderMode,
  senderRefusal,
} from '../../domain/registered-sender';
import { routeSender } from '../../domain/route';
import type { Log } from '../../log';
import { type IdGenerator, RANDOM } from '../access/id-generator';
import type { Sealing } from '../access/sealing';
import { raiseRevision } from '../carriers/revision';
import type { MessagingTables } from '../model/tables';

/**
 * Senders that belong to workspaces. Every process has all of them in memory and reads them again when
 * `carrier_settings.revision` has changed, so that checking a message costs one look-up in a map.
 */
export interface RegisteredSenders {
  list(): Promise<RegisteredSender[]>;
  /**
   * A sender that the workspace has already gets the new key, or none. Throws `sender_taken`, and `invalid_request`
   * for an unknown workspace.
   */
  create(input: SenderInput, generator?: IdGenerator): Promise<RegisteredSender>;
  /** Of a request that may be malformed, a workspace that does not exist. What is no text names none. */
  unknownWorkspace(given: unknown): Promise<FieldError[]>;
  /** Throws `not_found`. */
  remove(id: string): Promise<void>;
  /** Why the workspace may not use the sender. Memory only. */
  refusalOf(workspaceId: string, sender: { channel: Channel; from: string }): string | undefined;
  /** With which key mail of the domain is signed. Memory only. */
  dkimOf(domain: string): DkimKey | undefined;
  refresh(): Promise<void>;
  start(): Promise<void>;
  stop(): void;
}

export interface DkimKey {
  domain: string;
  selector: string;
  privateKey: string;
}

type Row = Selectable<MessagingTables['registered_senders']>;

type Deps = { db: Kysely<MessagingTables>; sealing: Sealing; mode: SenderMode; log: Log };

export function createRegisteredSenders(deps: Deps): RegisteredSenders {
  const { db, sealing, mode } = deps;
  const memory = new SenderMemory(deps);
  return {
    async list() {
      const rows = await db.selectFrom('registered_senders').selectAll().orderBy('id').execute();
      return rows.map(toSender);
    },
    async create(input, generator = RANDOM) {
      const made = await insertSender(db, sealing, input, generator.id('snr'));
      await memory.refresh();
      return made;
    },
    unknownWorkspace: async (given) => (typeof given === 'string' ? unknownIn(db, given) : []),
    async remove(id) {
      await db.transaction().execute(async (tx) => {
        await raiseRevision(tx);
        const { numDeletedRows } = await tx
          .deleteFrom('registered_senders')
          .where('id', '=', id)
          .executeTakeFirst();
        if (numDeletedRows === 0n)
          throw new DomainError(
            'not_found',
            `No sender ${id} in this installation; GET /api/admin/senders lists those that there are`,
          );
      });
      await memory.refresh();
    },
    refusalOf: (workspaceId, { channel, from }) =>
      memory.owners.size === 0 && mode === 'open'
        ? undefined
        : senderRefusal(memory.owners.get(registeredKey(channel, from)), workspaceId, channel, mode),
    dkimOf: (domain) => memory.keys.get(domain.toLowerCase()),
    refresh: () => memory.refresh(),
    start: () => memory.start(),
    stop: () => memory.stop(),
  };
}

/** All senders, as they were when the number of changes was last read. */
class SenderMemory {
  owners: ReadonlyMap<string, string> = new Map();
  keys: ReadonlyMap<string, DkimKey> = new Map();
  private revision: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private refreshing: Promise<void> = Promise.resolve();

  constructor(private readonly deps: Deps) {}

  async start(): Promise<void> {
    await this.refresh();
    this.timer = setInterval(() => {
      this.refresh().catch((error: unknown) =>
        this.deps.log.warn({ err: error }, 'Registered senders could not be read; trying again'),
      );
    }, LIMITS.carriersPollMs);
    this.timer.unref();
  }

  stop(): void {
    clearInterval(this.timer);
  }

  refresh(): Promise<void> {
    const next = this.refreshing.catch(() => undefined).then(() => this.poll());
    this.refreshing = next.catch(() => undefined);
    return next;
  }

  private async poll(): Promise<void> {
    const { db } = this.deps;
    // The number is read first: a change in between is then read twice, and never missed.
    const settings = await db.selectFrom('carrier_settings').select('revision').executeTakeFirstOrThrow();
    const now = String(settings.revision);
    if (now === this.revision) return;
    const rows = await db.selectFrom('registered_senders').selectAll().execute();
    this.owners = new Map(rows.map((row) => [`${row.channel} ${row.name}`, row.workspace_id]));
    this.keys = new Map(rows.flatMap((row) => this.keyOf(row)));
    this.revision = now;
  }

  /** Mail of a domain whose key cannot be opened leaves without its signature, because it would otherwise wait for ever. */
  private keyOf(row: Row): [string, DkimKey][] {
    if (row.dkim_selector === null || row.dkim_key === null || row.key_id === null) return [];
    try {
      const privateKey = this.deps.sealing.open(row.dkim_key, row.key_id, aboutOf(row.channel, row.name));
      return [[row.name, { domain: row.name, selector: row.dkim_selector, privateKey }]];
    } catch (error) {
      this.deps.log.error({ err: error, sender: row.id }, 'The DKIM key of a sender cannot be opened');
      return [];
    }
  }
}

async function insertSender(
  db: Kysely<MessagingTables>,
  sealing: Sealing,
  { workspace, channel, sender, dkim }: SenderInput,
  id: string,
): Promise<RegisteredSender> {
  const name = routeSender(channel, sender);
  const dkimColumns = dkim
    ? {
        dkim_selector: dkim.selector,
        dkim_key: sealing.seal(dkim.privateKey, aboutOf(channel, name)),
        key_id: sealing.keyId,
      }
    : { dkim_selector: null, dkim_key: null, key_id: null };
  return db.transaction().execute(async (tx) => {
    // Raised first, so that changes are made one after the other and the bound is kept.
    await raiseRevision(tx);
    const errors = await unknownIn(tx, workspace);
    if (errors.length > 0)
      throw new DomainError('invalid_request', `workspace: ${errors[0]?.message}`, { errors });
    const { count } = await tx
      .selectFrom('registered_senders')
      .select((on) => on.fn.countAll<number>().as('count'))
      .executeTakeFirstOrThrow();
    if (count >= LIMITS.registeredSenders) {
      throw new DomainError(
        'limit_reached',
        `An installation has at most ${LIMITS.registeredSenders} senders; delete one first`,
      );
    }
    const row = await tx
      .insertInto('registered_senders')
      .values({ id, workspace_id: workspace, channel, sender, name, ...dkimColumns })
      .onConflict((conflict) =>
        conflict
          .columns(['channel', 'name'])
          .doUpdateSet(dkimColumns)
          .where('registered_senders.workspace_id', '=', workspace),
      )
      .returningAll()
      .executeTakeFirst();
    if (!row)
      throw new DomainError(
        'sender_taken',
        `Another workspace has the ${channel} sender ${sender}; delete it there first`,
      );
    return toSender(row);
  });
}

async function unknownIn(db: Kysely<MessagingTables>, workspace: string): Promise<FieldError[]> {
  const known = await db.selectFrom('workspaces').select('id').where('id', '=', workspace).executeTakeFirst();
  if (known) return [];
  return [{ path: 'workspace', code: 'not_found', message: `There is no workspace ${workspace}` }];
}

/**
 * Seals with the first key what is under another one, as for accounts (carriers/account-secrets.ts). Answers the senders
 * whose key cannot be opened.
 */
export async function sealSendersAnew(db: Kysely<MessagingTables>, sealing: Sealing): Promise<string[]> {
  const rows = await db
    .selectFrom('registered_senders')
    .select(['id', 'channel', 'name', 'dkim_key', 'key_id'])
    .where('key_id', '<>', sealing.keyId)
    .execute();
  const unreadable: string[] = [];
  for (const { id, channel, name, dkim_key: sealed, key_id: keyId } of rows) {
    if (sealed === null || keyId === null) continue;
    try {
      const about = aboutOf(channel, name);
      const fresh = sealing.seal(sealing.open(sealed, keyId, about), about);
      await sql`
        update registered_senders set dkim_key = ${fresh}, key_id = ${sealing.keyId}
        where id = ${id} and dkim_key = ${sealed}`.execute(db);
    } catch {
      unreadable.push(id);
    }
  }
  return unreadable;
}

const aboutOf = (channel: Channel, name: string) => `DKIM key of the ${channel} sender ${name}`;

const toSender = (row: Row): RegisteredSender => ({
  id: row.id,
  workspace: row.workspace_id,
  channel: row.channel,
  sender: row.sender,
  dkim: row.dkim_selector === null ? undefined : { selector: row.dkim_selector },
});
