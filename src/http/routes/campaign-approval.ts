import type { Campaigns } from '../../campaigns/campaigns';
import { approveBody } from '../../contracts/approval';
import { answer, idParams } from '../../contracts/common';
import { DomainError } from '../../domain/errors';
import { type Caller, callerOf } from '../caller';
import { noteOf } from '../idempotency';
import { approveCampaign, readDigest } from '../operations/campaign-approval';
import type { App } from '../routing';

const config = { auth: 'campaign' } as const;

/** A large campaign is looked at, and approved by another person than its creator (docs/approval.md). */
export function campaignApprovalRoutes(
  app: App,
  { campaigns }: { campaigns: Pick<Campaigns, 'digest' | 'approve'> },
): void {
  const reading = { operation: readDigest, params: idParams };
  app.get('/api/campaign/:id/digest', { config, schema: reading }, async (request) => {
    const { workspaceId } = callerOf(request);
    return answer(200, 'Digest', await campaigns.digest(workspaceId, request.params.id));
  });

  const approving = {
    config: { ...config, idempotent: true },
    schema: { operation: approveCampaign, params: idParams, body: approveBody },
  } as const;
  app.post('/api/campaign/:id/approve', approving, async (request) => {
    const caller = callerOf(request);
    const userId = approverOf(caller);
    const call = { digest: request.body.digest, userId, note: noteOf(request) };
    const approved = await campaigns.approve(caller.workspaceId, request.params.id, call);
    return answer(200, 'Campaign approved', approved);
  });
}

/** A session proves who the person is; a client only says for whom it acts. */
function approverOf({ userId }: Caller): string {
  if (userId !== undefined) return userId;
  throw new DomainError('user_required', 'A campaign is approved by a person who has logged in');
}
