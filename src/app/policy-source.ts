import type { Kysely } from 'kysely';
import { readPolicy } from '../campaigns/policy/policy';
import type { CampaignTables } from '../campaigns/tables';
import { BoundedCache } from '../domain/bounded-cache';
import { LIMITS } from '../domain/limits';
import type { WorkspacePolicy } from '../domain/policy';
import type { PolicySource } from '../messaging/outbox/policy-rules';

/**
 * The workspace's policy for the messaging half, which asks for every message: kept for a moment, so that a change
 * counts in every process within it. One that cannot be read holds the message up: to send what is forbidden would
 * be worse.
 */
export function policySource(db: Kysely<CampaignTables>, now: () => number = Date.now): PolicySource {
  const known = new BoundedCache<{ policy: Promise<WorkspacePolicy | undefined>; readAt: number }>(
    LIMITS.authCacheEntries,
  );
  return (workspaceId) => {
    const kept = known.get(workspaceId);
    if (kept && now() - kept.readAt < LIMITS.policyCacheMs) return kept.policy;
    const policy = readPolicy(db, workspaceId);
    known.set(workspaceId, { policy, readAt: now() });
    policy.catch(() => known.delete(workspaceId));
    return policy;
  };
}
