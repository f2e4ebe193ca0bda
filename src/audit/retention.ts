import type { Kysely, Transaction } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import { type PeriodicCleanup, startPeriodicCleanup } from '../storage/periodic-cleanup';
import { appendIn } from './chain';
import type { AuditTables } from './tables';

/** The key that secrets in the database are encrypted with, as far as a cut needs it. */
export interface StartSealing {
  keyId: string;
  seal(text: string, about: string): string;
  open(sealed: string, keyId: string, about: string): string;
}

/** Where retention has cut a chain: the first entry that is kept follows the entry with this hash. */
export interface ChainStart {
  prev: string;
  /** Entries that were deleted, all in all. */
  entries: number;
  cutAt: string;
}

/**
 * Deletes the oldest entries, of which the newest is older than the given time, and at most some thousands at once.
 * In the same transaction the cut is recorded twice: sealed in the chain's row, so that a reader of this installation
 * knows it from a beginning that was deleted by someone else, and as an entry, so that an exported log tells it
 * too. Returns how many it deleted.
 */
export async function cutChain(
  db: Kysely<AuditTables>,
  sealing: StartSealing,
  { workspaceId, beforeMs, now }: { workspaceId: string; beforeMs: number; now: () => number },
): Promise<number> {
  return db.transaction().execute(async (tx) => {
    const chain = await tx
      .selectFrom('audit_chains')
      .select(['sealed_start', 'key_id'])
      .where('workspace_id', '=', workspaceId)
      .forUpdate()
      .executeTakeFirst();
    const old = await oldest(tx, workspaceId, beforeMs);
    const last = old.at(-1);
    if (!chain || !last) return 0;
    const before = openStart(sealing, workspaceId, chain);
    const start: ChainStart = {
      prev: last.hash,
      entries: (before?.entries ?? 0) + old.length,
      cutAt: new Date(now()).toISOString(),
    };
    await tx
      .deleteFrom('audit_entries')
      .where('workspace_id', '=', workspaceId)
      .where('seq', '<=', last.seq)
      .execute();
    await tx
      .updateTable('audit_chains')
      .set({ sealed_start: sealing.seal(JSON.stringify(start), about(workspaceId)), key_id: sealing.keyId })
      .where('workspace_id', '=', workspaceId)
      .execute();
    await appendIn(
      tx,
      {
        workspaceId,
        actor: { kind: 'system', id: null },
        address: null,
        requestId: null,
        action: 'audit.cut',
        object: { kind: 'workspace', id: workspaceId },
        result: 'ok',
        detail: { entries: old.length, lastId: last.id, lastHash: last.hash },
      },
      now(),
    );
    return old.length;
  });
}

export async function readChainStart(
  db: Kysely<AuditTables>,
  sealing: StartSealing,
  workspaceId: string,
): Promise<ChainStart | null> {
  const chain = await db
    .selectFrom('audit_chains')
    .select(['sealed_start', 'key_id'])
    .where('workspace_id', '=', workspaceId)
    .executeTakeFirst();
  return (chain && openStart(sealing, workspaceId, chain)) ?? null;
}

/**
 * Seals every beginning with the newest key, so that an operator can take an older one away. Fails after the last
 * one if some cannot be opened.
 */
export async function sealStartsAnew(db: Kysely<AuditTables>, sealing: StartSealing): Promise<void> {
  const chains = await db
    .selectFrom('audit_chains')
    .select(['workspace_id', 'sealed_start', 'key_id'])
    .where('key_id', '!=', sealing.keyId)
    .execute();
  let failure: unknown;
  for (const { workspace_id, ...chain } of chains) {
    let start: ChainStart | undefined;
    try {
      start = openStart(sealing, workspace_id, chain);
    } catch (error) {
      failure ??= error;
      continue;
    }
    await db
      .updateTable('audit_chains')
      .set({ sealed_start: sealing.seal(JSON.stringify(start), about(workspace_id)), key_id: sealing.keyId })
      .where('workspace_id', '=', workspace_id)
      .where('sealed_start', '=', chain.sealed_start)
      .execute();
  }
  if (failure !== undefined) throw failure;
}

const about = (workspaceId: string) => `start of the audit log of ${workspaceId}`;

/** Throws when the seal was changed, or its key is not there. */
function openStart(
  sealing: StartSealing,
  workspaceId: string,
  { sealed_start, key_id }: { sealed_start: string | null; key_id: string | null },
): ChainStart | undefined {
  if (sealed_start === null || key_id === null) return undefined;
  return JSON.parse(sealing.open(sealed_start, key_id, about(workspaceId))) as ChainStart;
}

/** Time does not run backwards within a chain, so that what is old stands at its beginning. */
function oldest(tx: Transaction<AuditTables>, workspaceId: string, beforeMs: number) {
  return tx
    .selectFrom('audit_entries')
    .select(['seq', 'id', 'hash'])
    .where('workspace_id', '=', workspaceId)
    .where('at', '<', new Date(beforeMs))
    .orderBy('seq')
    .limit(LIMITS.auditCutRows)
    .execute();
}

const DAY_MS = 86_400_000;

/**
 * Cuts the audit logs of all workspaces. Whole days go, so that a chain is cut once a day and not with each
 * sweep: every cut is an entry of its own.
 */
export function keepAuditRetention({
  db,
  sealing,
  days,
  log,
  now = Date.now,
}: {
  db: Kysely<AuditTables>;
  sealing: StartSealing;
  /** Kept for ever without it. */
  days: number | undefined;
  log: Log;
  now?: () => number;
}): PeriodicCleanup {
  return startPeriodicCleanup({
    async steps() {
      if (days === undefined) return [];
      const beforeMs = Math.floor(now() / DAY_MS - days) * DAY_MS;
      const chains = await db.selectFrom('audit_chains').select('workspace_id').execute();
      return chains.map(
        ({ workspace_id: workspaceId }) =>
          () =>
            cutChain(db, sealing, { workspaceId, beforeMs, now }).catch((error: unknown) => {
              // The next workspace's log is cut even so, because one whose seal was changed fails at every sweep.
              log.warn({ err: error, workspaceId }, 'The audit log of a workspace could not be cut off');
              return 0;
            }),
      );
    },
    onFailed: (error) =>
      log.warn({ err: error }, 'Old audit entries could not be cut off; trying again at the next sweep'),
  });
}
