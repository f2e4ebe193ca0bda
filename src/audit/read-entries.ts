import type { Kysely } from 'kysely';
import type { AuditEntry } from './entry';
import type { AuditTables } from './tables';

export interface EntryQuery {
  /** Number of the entry that the page before ended with. */
  after?: number | undefined;
  limit: number;
  order: 'newest' | 'oldest';
  /** An id, or a kind such as `user`. */
  actor?: string | undefined;
  object?: string | undefined;
  action?: string | undefined;
  /** Times, both inclusive. */
  from?: string | undefined;
  to?: string | undefined;
}

export interface EntryPage {
  entries: AuditEntry[];
  /** `after` of the page that follows; null at the end. */
  next: number | null;
}

export async function readEntries(
  db: Kysely<AuditTables>,
  workspaceId: string,
  { after, limit, order, actor, object, action, from, to }: EntryQuery,
): Promise<EntryPage> {
  const newest = order === 'newest';
  let query = db
    .selectFrom('audit_entries')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('seq', newest ? 'desc' : 'asc')
    // Reads one more, to know whether another page follows.
    .limit(limit + 1);
  if (after !== undefined) query = query.where('seq', newest ? '<' : '>', after);
  if (actor !== undefined) {
    query = query.where((on) => on.or([on('actor_id', '=', actor), on('actor_kind', '=', actor)]));
  }
  if (object !== undefined) {
    query = query.where((on) => on.or([on('object_id', '=', object), on('object_kind', '=', object)]));
  }
  if (action !== undefined) query = query.where('action', '=', action);
  if (from !== undefined) query = query.where('at', '>=', new Date(from));
  if (to !== undefined) query = query.where('at', '<=', new Date(to));
  const rows = await query.execute();
  const page = rows.slice(0, limit);
  return { entries: page.map(toEntry), next: rows.length > limit ? (page.at(-1)?.seq ?? null) : null };
}

function toEntry(row: EntryRow): AuditEntry {
  const { id, at, address, action, result, detail, prev, hash } = row;
  return {
    id,
    at: at.toISOString(),
    actor: { kind: row.actor_kind as AuditEntry['actor']['kind'], id: row.actor_id },
    address,
    requestId: row.request_id,
    action,
    object: { kind: row.object_kind, id: row.object_id },
    result,
    detail,
    prev,
    hash,
  };
}

type EntryRow = Omit<AuditTables['audit_entries'], 'at'> & { at: Date };

/** What a reader holds the entries against: where the chain begins and ends. */
export interface ChainEnds {
  /** Entries ever written. */
  written: number;
  /** Hash of the newest; null while there is none. */
  last: string | null;
}

export async function readChainEnds(db: Kysely<AuditTables>, workspaceId: string): Promise<ChainEnds> {
  const chain = await db
    .selectFrom('audit_chains')
    .select(['last_seq', 'last_hash'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return { written: chain?.last_seq ?? 0, last: chain?.last_hash ?? null };
}
