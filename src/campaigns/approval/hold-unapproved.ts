import { sql, type Transaction } from 'kysely';
import { type Approval, allowedContacts, approvalRuleOf } from '../../domain/approval';
import type { Channel } from '../../domain/channel';
import type { WorkspacePolicy } from '../../domain/policy';
import type { CampaignTables } from '../model/tables';
import { policyInForce } from '../policy/policy';
import { pauseItself } from '../runs/own-pause';

/**
 * Pauses a run whose audience has more contacts than its campaign may be sent to, in the transaction that freezes them:
 * none of them can be sent to before it commits, and afterwards the run is paused. A piece counts as well as the lists
 * do at the beginning, because members may still be added by a transaction that began earlier.
 */
export async function holdUnapproved(
  tx: Transaction<CampaignTables>,
  runId: string,
  count: () => Promise<number>,
): Promise<void> {
  const { rows } = await sql<{
    approval: Approval | null;
    channels: Channel[];
    policy: WorkspacePolicy | null;
  }>`
    select c.approval, c.channels, ${policyInForce(sql`r.workspace_id`)} as policy
    from runs r join campaigns c on c.id = r.campaign_id where r.id = ${runId}`.execute(tx);
  const [row] = rows;
  const rule = row && approvalRuleOf(row.policy, row.channels);
  if (!rule) return;
  const allowed = allowedContacts(rule, row.approval);
  const contacts = await count();
  if (contacts > allowed) await pauseItself(tx, runId, { code: 'approval_required', contacts, allowed });
}
