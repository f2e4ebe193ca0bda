import { type Kysely, type RawBuilder, sql } from 'kysely';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { NO_POLICY, type PolicyVersion, type WorkspacePolicy } from '../../domain/policy';
import type { CampaignTables } from '../model/tables';

/**
 * The workspace's policy (api.md 7). Quiet hours and caps are kept by the worker that sends for a campaign or
 * a durable send; the senders that are allowed and the text on opting out by the messaging service too, which
 * gets them from src/app. A change counts from the next page of a run on, and those who wait already are told
 * (follow-policy.ts).
 */
export interface Policies {
  /** Version 0 is a workspace that never set any. */
  read(workspaceId: string): Promise<PolicyVersion>;
  /** Replaces the whole. The same again is no new version. */
  replace(workspaceId: string, policy: WorkspacePolicy): Promise<PolicyVersion>;
}

export function createPolicies({
  db,
  changed = () => undefined,
}: {
  db: Kysely<CampaignTables>;
  /** There is a new version. Waiting runs are signalled beside the answer, and within a minute if that fails. */
  changed?: ((workspaceId: string) => void) | undefined;
}): Policies {
  return {
    async read(workspaceId) {
      return (await latest(db, workspaceId)) ?? { version: 0, policy: NO_POLICY, updatedAt: null };
    },
    async replace(workspaceId, policy) {
      for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
        const before = await latest(db, workspaceId);
        if (before && (await isSame(db, workspaceId, before.version, policy))) return before;
        const version = (before?.version ?? 0) + 1;
        if (version > LIMITS.policyVersions) {
          throw new DomainError(
            'limit_reached',
            `The policy has been changed ${LIMITS.policyVersions} times, and no more changes are kept`,
          );
        }
        const row = await db
          .insertInto('policy_versions')
          .values({ workspace_id: workspaceId, version, policy: JSON.stringify(policy) })
          .onConflict((conflict) => conflict.doNothing())
          .returningAll()
          .executeTakeFirst();
        if (!row) continue;
        changed(workspaceId);
        return { version, policy: row.policy, updatedAt: row.created_at };
      }
      throw new DomainError('overloaded', 'Other requests change the policy at this moment; try again', {
        retryAfterSeconds: 1,
      });
    },
  };
}

/** Two who change it at once take turns; that one is always the later one is not to be expected. */
const ATTEMPTS = 5;

async function latest(db: Kysely<CampaignTables>, workspaceId: string): Promise<PolicyVersion | undefined> {
  const row = await db
    .selectFrom('policy_versions')
    .selectAll()
    .where('workspace_id', '=', workspaceId)
    .orderBy('version', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && { version: row.version, policy: whole(row.policy), updatedAt: row.created_at };
}

/** An earlier release did not know every part. */
const whole = (stored: WorkspacePolicy): WorkspacePolicy => ({ ...NO_POLICY, ...stored });

/** As the database compares: whatever the order of members, and whether one is absent or undefined. */
async function isSame(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  version: number,
  policy: WorkspacePolicy,
): Promise<boolean> {
  const { rows } = await sql`
    select 1 from policy_versions where workspace_id = ${workspaceId} and version = ${version}
      and ${JSON.stringify(NO_POLICY)}::jsonb || policy = ${JSON.stringify(policy)}::jsonb`.execute(db);
  return rows.length > 0;
}

/** SQL: the policy in force, null without one. */
export function policyInForce(workspaceId: RawBuilder<unknown>): RawBuilder<WorkspacePolicy | null> {
  return sql`(select policy from policy_versions where workspace_id = ${workspaceId} order by version desc limit 1)`;
}

/** SQL: its number, 0 without one. */
export function policyVersion(workspaceId: RawBuilder<unknown>): RawBuilder<number> {
  return sql`(select coalesce(max(version), 0)::int from policy_versions where workspace_id = ${workspaceId})`;
}

export async function readPolicy(
  db: Kysely<CampaignTables>,
  workspaceId: string,
): Promise<WorkspacePolicy | undefined> {
  return (await latest(db, workspaceId))?.policy;
}
