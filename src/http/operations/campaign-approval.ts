import { campaignDigest, changedCampaign } from '../../contracts/answers/campaigns';
import { approveBody } from '../../contracts/approval';
import { SKIP_REASONS, type Skipped } from '../../domain/recipient';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

const NOBODY_SKIPPED = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;

export const readDigest: Operation = {
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
            skipped: NOBODY_SKIPPED,
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

export const approveCampaign: Operation = {
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
