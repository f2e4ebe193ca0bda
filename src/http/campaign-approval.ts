import type { Campaigns } from '../campaigns/campaigns';
import { approveBody, campaignDigest } from '../contracts/campaign-approval';
import { changedCampaign } from '../contracts/campaigns';
import { answer, idParams } from '../contracts/common';
import { DomainError } from '../domain/errors';
import { SKIP_REASONS, type Skipped } from '../domain/recipient';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { type Caller, callerOf } from './request/caller';
import { noteOf } from './request/idempotency';
import type { App } from './request/routing';

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

const NONE_SKIPPED = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;

const readDigest: Operation = {
  id: 'readCampaignDigest',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'What an approval is of',
  description:
    'What the campaign would send, with pinned versions of templates, how, when and to how many, judged as a dry run judges it; and `digest`, which stands for all of it. It is the same as long as nothing of it changes. The newest digests of a campaign can be approved.',
  parameters: { id: EXAMPLE.campaign },
  answers: {
    200: json(
      'What is to be approved.',
      campaignDigest,
      answered(200, 'Digest', {
        digest: EXAMPLE.digest,
        contacts: 3,
        recipients: 3,
        channels: {
          sms: {
            contacts: 3,
            recipients: 3,
            skipped: NONE_SKIPPED,
            segments: 3,
            longest: 1,
            offenders: [],
            earliest: EXAMPLE.at,
            latest: EXAMPLE.at,
          },
        },
        templates: [
          { channel: 'sms' as const, templateId: EXAMPLE.smsTemplate, version: 1, name: 'Order ready' },
        ],
        schedule: null,
        estimate: { durationSeconds: null, warnings: [] },
      }),
    ),
  },
  errors: [
    'not_found',
    'template_not_found',
    'contact_list_not_found',
    'campaign_not_found',
    'missing_params',
    'sender_not_allowed',
    'dependency_down',
    'overloaded',
  ],
};

const approveCampaign: Operation = {
  id: 'approveCampaign',
  access: { role: 'sender' },
  tag: 'Campaigns',
  summary: 'Approve a campaign',
  description:
    'By a user who may start campaigns and is neither its creator nor the user for whom a client created it; never by a client. A draft starts; runs that were paused with `approval_required` go on; what its owner has paused may be resumed. 409 `digest_changed` when anything that the digest covers has changed since, or more than 1 % of the members were added or removed. Changing the campaign takes the approval back. Repeating it is harmless.',
  parameters: { id: EXAMPLE.campaign },
  body: jsonBody(approveBody, { approve: { digest: EXAMPLE.digest } }),
  answers: {
    200: json(
      'Approved, or so already.',
      changedCampaign,
      answered(200, 'Campaign approved', {
        id: EXAMPLE.campaign,
        name: 'Spring sale',
        channel: ['sms' as const],
        status: 'active' as const,
        phase: 'planning' as const,
        createdAt: EXAMPLE.at,
        tags: [],
        archived: false,
      }),
    ),
  },
  errors: [
    'not_found',
    'user_required',
    'own_campaign',
    'digest_changed',
    'illegal_transition',
    'template_not_found',
    'contact_list_not_found',
    'campaign_not_found',
    'missing_params',
    'insecure_links',
    'no_audience',
    'dependency_down',
  ],
};
