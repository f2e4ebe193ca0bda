import type { Kysely } from 'kysely';
import type { CampaignTables } from '../campaigns/model/tables';
import { readPolicy } from '../campaigns/policy/policy';
import { BoundedCache } from '../domain/bounded-cache';
import { LIMITS } from '../domain/limits';
import type { WorkspacePolicy } from '../domain/policy';
import type { PolicySource } from '../messaging/outbox/accept/policy-rules';

/**
 * The workspace's policy for the messaging half, which asks for every message. It is cached for a moment, so
 * that a change takes effect in every process within that time. If the policy cannot be read, the message
 * waits, because sending a forbidden message would be worse.
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
