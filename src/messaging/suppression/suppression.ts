import type { Readable } from 'node:stream';
import { type Kysely, type Selectable, sql } from 'kysely';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import {
  addressKey,
  type Suppression,
  type SuppressionChannel,
  type SuppressionSource,
  senderKey,
} from '../../domain/suppression';
import { newId } from '../../storage/new-id';
import type { MessagingTables } from '../model/tables';
import { erasedKeySql } from './erased-address';
import { liftSuppressions } from './lift-suppressions';
import { importSuppressions, type SuppressionImport, type SuppressionReport } from './suppression-import';
import { upsertSuppressions } from './suppression-rows';

/**
 * The recipients whom a workspace does not write to or call (api.md 9). An entry is for an address on one
 * channel or on all, and for one sender or for every sender. suppression-check.ts applies it.
 */
export interface SuppressionList {
  /** Adding the same entry again at most changes its reason. Repeated with the same id, the answer is the same. */
  add(
    workspaceId: string,
    block: Suppression,
    source: SuppressionSource,
    id?: string,
  ): Promise<AddedSuppression>;
  /** Reads the upload as fast as it can store it. Throws `invalid_request` if it is no such table. */
  importCsv(workspaceId: string, source: Readable, parse: SuppressionImport): Promise<SuppressionReport>;
  /** Newest first. */
  list(
    workspaceId: string,
    query: {
      page: number;
      limit: number;
      channel?: SuppressionChannel | undefined;
      search?: string | undefined;
    },
  ): Promise<{ suppressions: SuppressionRecord[]; total: number }>;
  /**
   * Deletes the entries of exactly this address and channel, of one sender or of all. Throws `not_found` when
   * there is none.
   */
  remove(workspaceId: string, key: SuppressionKey): Promise<RemovedSuppression>;
  /** All entries by address, a page at a time. */
  pages(workspaceId: string): AsyncGenerator<SuppressionRecord[]>;
}

export interface SuppressionKey {
  channel: SuppressionChannel;
  address: string;
  sender?: string | undefined;
  /** For every sender. */
  anySender: boolean;
}

export interface SuppressionRecord {
  id: string;
  channel: SuppressionChannel;
  /** Null for a person who was erased. */
  address: string | null;
  reason: string;
  /** Empty for every sender. */
  sender: string;
  source: SuppressionSource;
  createdAt: Date;
  updatedAt: Date;
}

export interface AddedSuppression {
  suppression: SuppressionRecord;
  created: boolean;
}

export interface RemovedSuppression {
  removed: number;
  /** Another entry, of another channel or sender, still covers the address on this channel. */
  stillSuppressed: boolean;
}

export function createSuppressionList({ db }: { db: Kysely<MessagingTables> }): SuppressionList {
  return {
    async add(workspaceId, block, source, id = newId('sup')) {
      await upsertSuppressions(db, workspaceId, [block], source, id);
      const row = await db
        .selectFrom('suppressions')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where((on) =>
          on.or([
            on.and({
              address: addressKey(block.address),
              channel: block.channel,
              sender: block.sender === undefined ? '' : senderKey(block.sender),
            }),
            sql<boolean>`address = ${erasedKeySql(workspaceId, sql`${addressKey(block.address)}`)}`,
          ]),
        )
        .executeTakeFirst();
      // Another call has added and removed the entry between the two statements.
      if (!row) throw new DomainError('dependency_down', 'The entry was removed meanwhile; try again');
      return { suppression: toRecord(row), created: row.id === id };
    },
    importCsv: (workspaceId, source, parse) =>
      importSuppressions(source, parse, (blocks) => upsertSuppressions(db, workspaceId, blocks, 'csv')),
    list: (workspaceId, query) => listSuppressions(db, workspaceId, query),
    remove: (workspaceId, key) => removeSuppressions(db, workspaceId, key),
    async *pages(workspaceId) {
      let after = { address: '', channel: '', sender: '' };
      for (;;) {
        const rows = await db
          .selectFrom('suppressions')
          .selectAll()
          .where('workspace_id', '=', workspaceId)
          .where(
            sql<boolean>`(address, channel, sender) > (${after.address}, ${after.channel}, ${after.sender})`,
          )
          .orderBy('address')
          .orderBy('channel')
          .orderBy('sender')
          .limit(LIMITS.longPageSizeMax)
          .execute();
        const last = rows.at(-1);
        if (!last) return;
        yield rows.map(toRecord);
        after = last;
      }
    },
  };
}

async function listSuppressions(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  { page, limit, channel, search }: Parameters<SuppressionList['list']>[1],
): Promise<{ suppressions: SuppressionRecord[]; total: number }> {
  let matching = db.selectFrom('suppressions').where('workspace_id', '=', workspaceId);
  if (channel) matching = matching.where('channel', '=', channel);
  if (search !== undefined) {
    const text = search.toLowerCase();
    matching = matching.where(
      sql<boolean>`((position(${text}::text in address) > 0 and source <> 'erased') or position(${text}::text in lower(reason)) > 0)`,
    );
  }
  const { total } = await matching
    .select((on) => on.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const rows = await matching
    .selectAll()
    .orderBy('id', 'desc')
    .limit(limit)
    .offset((page - 1) * limit)
    .execute();
  return { suppressions: rows.map(toRecord), total };
}

async function removeSuppressions(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  { channel, address, sender, anySender }: SuppressionKey,
): Promise<RemovedSuppression> {
  const ofSender = sender === undefined ? '' : senderKey(sender);
  const which = anySender ? sql<boolean>`true` : sql<boolean>`sender = ${ofSender}`;
  const removed = await liftSuppressions(db, { workspaceId, address, channel }, which, 'api');
  const others = await db
    .selectFrom('suppressions')
    .select(['channel', sql<boolean>`sender = ''`.as('ofWorkspace')])
    .distinct()
    .where('workspace_id', '=', workspaceId)
    .where(
      sql<boolean>`address in (${addressKey(address)}, ${erasedKeySql(workspaceId, sql`${addressKey(address)}`)})`,
    )
    .orderBy('channel')
    .orderBy('ofWorkspace', 'desc')
    .execute();
  if (removed === 0) throw nothingLifted({ channel, address, anySender }, others);
  const covers = (other: SuppressionChannel) => channel === 'all' || [channel, 'all'].includes(other);
  return { removed, stillSuppressed: others.some((other) => covers(other.channel)) };
}

/** Names the address by its form only, because messages of errors are logged. */
function nothingLifted(
  { channel, address, anySender }: SuppressionKey,
  others: readonly { channel: SuppressionChannel; ofWorkspace: boolean }[],
): DomainError {
  const what = address.includes('@') ? 'this email address' : 'this phone number';
  if (others.length === 0)
    return new DomainError(
      'not_found',
      `Nothing was lifted: ${what} is not suppressed in this workspace. Search the list for a part of it, in case it was mistyped`,
    );
  const [withScope, andScope] = anySender ? ['', ''] : [' with this scope', ' and scope'];
  const present = others.map((other) => `${other.channel} (${other.ofWorkspace ? 'workspace' : 'sender'})`);
  return new DomainError(
    'not_found',
    `Nothing was lifted: ${what} has no suppression for channel ${channel}${withScope}, but for ${present.join(', ')}. Name that channel${andScope} to lift it`,
  );
}

function toRecord(row: Selectable<MessagingTables['suppressions']>): SuppressionRecord {
  const { id, channel, reason, sender, source, created_at, updated_at } = row;
  const address = source === 'erased' ? null : row.address;
  return { id, channel, address, reason, sender, source, createdAt: created_at, updatedAt: updated_at };
}
