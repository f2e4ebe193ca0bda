import type { Kysely } from 'kysely';
import { cutChain, type StartSealing } from '../audit/retention';
import type { AuditTables } from '../audit/tables';
import type { Log } from '../log';
import { type PeriodicCleanup, startPeriodicCleanup } from '../storage/periodic-cleanup';

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
            cutChain(db, sealing, { workspaceId, beforeMs, now }),
      );
    },
    onFailed: (error) =>
      log.warn({ err: error }, 'Old audit entries could not be cut off; trying again at the next sweep'),
  });
}
