import { type Kysely, sql } from 'kysely';
import { BoundedCache } from '../../domain/bounded-cache';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from './tables';

type Db = Kysely<CampaignTables>;

const MOST = {
  campaigns: LIMITS.campaignsPerWorkspace,
  contact_lists: LIMITS.listsPerWorkspace,
  contacts: LIMITS.contactsPerWorkspace,
} as const;

/** Campaigns are never deleted, so that archiving them makes room: lists and sweeps pass over those that are archived. */
const COUNTED = {
  campaigns: sql`archived_at is null`,
  contact_lists: sql`true`,
  contacts: sql`true`,
} as const;

/** Fails with `limit_reached` when the workspace has as many as it may. Two calls at once may go beyond by one. */
export async function requireRoom(
  db: Db,
  workspaceId: string,
  table: 'campaigns' | 'contact_lists',
): Promise<void> {
  const count = await countUpTo(db, workspaceId, table);
  if (count >= MOST[table]) throw full(table);
}

/**
 * Room for contacts. Counting ten million of them takes seconds, so that no call waits for it: each process counts in
 * the background, every ten minutes at most, and a workspace may go beyond its bound for that long.
 */
export interface ContactRoom {
  /** Fails with `limit_reached` when the workspace had as many contacts as it may when they were last counted. */
  require(workspaceId: string): void;
}

export function createContactRoom(
  db: Db,
  now: () => number = Date.now,
  most: number = MOST.contacts,
): ContactRoom {
  const counts = new BoundedCache<{ count: number; atMs: number }>(LIMITS.rateWindowKeys);

  async function count(workspaceId: string): Promise<void> {
    const known = counts.get(workspaceId)?.count ?? 0;
    // Set first, so that calls that come meanwhile do not count as well.
    counts.set(workspaceId, { count: known, atMs: now() });
    const found = await countUpTo(db, workspaceId, 'contacts');
    counts.set(workspaceId, { count: found, atMs: now() });
  }

  return {
    require(workspaceId) {
      const known = counts.get(workspaceId);
      if (!known || now() - known.atMs >= LIMITS.contactCountSeconds * 1_000) {
        // If the database is down, the import itself says so.
        count(workspaceId).catch(() => counts.delete(workspaceId));
      }
      if (known && known.count >= most) throw full('contacts');
    },
  };
}

async function countUpTo(db: Db, workspaceId: string, table: keyof typeof MOST): Promise<number> {
  const { rows } = await sql<{ count: number }>`
    select count(*)::int as count from (
      select 1 from ${sql.table(table)} where workspace_id = ${workspaceId} and ${COUNTED[table]} limit ${MOST[table]}
    ) counted`.execute(db);
  return rows[0]?.count ?? 0;
}

function full(table: keyof typeof MOST): DomainError {
  const what = table.replace('_', ' ');
  const wayOut = table === 'campaigns' ? 'archive some that have ended' : 'delete some';
  return new DomainError('limit_reached', `A workspace has at most ${MOST[table]} ${what}; ${wayOut} first`);
}
