import { z } from 'zod';
import {
  campaignDetail,
  campaignList,
  changedCampaign,
  changedDelivery,
  dryRun,
  releasedCampaign,
  retriedCampaign,
  runs,
  savedCampaign,
} from '../../contracts/answers/campaigns';
import { releaseBody } from '../../contracts/campaign-release';
import { campaignBody, campaignChange, emptyBody, retryFailedBody } from '../../contracts/campaigns';
import type { Action } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import { RECIPIENT_STATES, type RecipientState, SKIP_REASONS, type Skipped } from '../../domain/recipient';
import { json, jsonBody, type Operation } from '../operation';
import { contactRow } from './contact-row';
import { answered, EXAMPLE, page } from './examples';

const CREATE = {
  campaignId: null,
  name: 'Spring sale',
  channel: ['sms' as const],
  settings: { sms: { shortCode: '12345', templateId: EXAMPLE.smsTemplate, version: 1 } },
  contactListId: [EXAMPLE.list],
  params: { TOTAL: 10 },
  start: false,
};

const TRIGGER = {
  campaignId: null,
  name: 'Your order is ready',
  channel: CREATE.channel,
  settings: CREATE.settings,
  recipients: [
    { externalId: 'c-1', name: 'Ada', phone: '+12025550123', params: { TOTAL: 12 } },
    { phone: '+12025550147', name: 'Grace', params: { TOTAL: 8 } },
  ],
  start: false,
};

/** For readers: rows are judged one by one. */
const SHOWN = campaignBody.safeExtend({
  recipients: z.array(contactRow).min(1).max(LIMITS.contactsPerRequest).optional(),
});

const DRAFT = {
  id: EXAMPLE.campaign,
  name: CREATE.name,
  channel: CREATE.channel,
  status: 'paused' as const,
  phase: 'draft' as const,
  createdAt: EXAMPLE.at,
};
const THREE = {
  ...CREATE,
  campaignId: EXAMPLE.campaign,
  name: 'Spring sale, first week',
  channel: ['email' as const, 'sms' as const, 'voice' as const],
  settings: {
    email: { fromEmail: 'shop@harbour-books.example', templateId: EXAMPLE.emailTemplate, version: 1 },
    ...CREATE.settings,
    voice: { callerId: '+12025550100', templateId: EXAMPLE.voiceTemplate, version: 1 },
  },
  class: 'marketing' as const,
  delivery: { maxConcurrentCalls: 5 },
  voice: { maxAttempts: 3, retry: { busy: { maxAttempts: 3, delaysSeconds: [60, 300] } } },
  release: {
    stages: [{ percent: 5, waitSeconds: 1_800 }],
    gates: [{ metric: 'undelivered' as const, above: 0.05, minSample: 20 }],
  },
};
const EDITED = { ...DRAFT, name: THREE.name, channel: THREE.channel };
const ONE = { parameters: { id: EXAMPLE.campaign } };

const REFERENCES = [
  'template_not_found',
  'contact_list_not_found',
  'campaign_not_found',
  'missing_params',
] as const;

const NOBODY_SKIPPED = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;

export const createCampaign: Operation = {
  id: 'createCampaign',
  tag: 'Campaigns',
  summary: 'Create or edit a campaign',
  description:
    'With a `campaignId`, edits that campaign, which is possible while its phase is `draft` or `scheduled`, or `paused` before it has begun, and no occurrence of it goes on; what is paused stays so unless `start` is true. It starts at once, or when `schedule.startAt` says, or again and again by `schedule.cron`, unless `start` is false. `settings` has exactly the listed channels; templates and lists must exist, and every placeholder must be one that at least one contact has a value for. `exclude.campaignIds` leaves out whom those campaigns have reached on the same channel when the audience is frozen (states `sending`, `accepted`, `sent`, `delivered` and `unknown`), by contact and by address.\n\nWith more contacts than the policy’s `approval` allows it stays a draft, or becomes one, whatever `start` says, until `POST …/approve`.\n\n`recipients` beside `contactListId` or in its place creates and starts a campaign in one call. Each row is judged alone, as a row of an import is, with `?country=` as the region of phone numbers; one wrong row refuses the whole request, unless `skipInvalid` is true. Recipients become contacts of the workspace, in an audience of this campaign alone; their `params` go before the contact’s own and stay with the campaign. An edit with `recipients` replaces that audience, one without keeps it.',
  parameters: { country: 'US' },
  body: jsonBody(campaignBody, { create: CREATE, edit: THREE, trigger: TRIGGER }, SHOWN),
  answers: {
    201: json('Created.', savedCampaign, answered(201, 'Campaign created', { ...DRAFT, warnings: [] })),
    200: json('Edited.', savedCampaign, answered(200, 'Campaign updated', { ...EDITED, warnings: [] })),
  },
  errors: ['not_found', 'campaign_started', ...REFERENCES, 'no_audience', 'dependency_down'],
};

export const dryRunCampaign: Operation = {
  id: 'dryRunCampaign',
  tag: 'Campaigns',
  summary: 'Try a campaign without sending',
  description:
    'Takes what creating takes and refuses what it refuses; creates nothing and sends nothing. The audience is judged by the same rules that freeze it, and every SMS is rendered for its length. With a `campaignId`, as if that campaign were edited.',
  parameters: { country: 'US' },
  body: jsonBody(campaignBody, { try: CREATE, tryTrigger: TRIGGER }, SHOWN),
  answers: {
    200: json(
      'What would become of it.',
      dryRun,
      answered(200, 'Nothing was sent', {
        channels: {
          sms: {
            contacts: 3,
            recipients: 1,
            skipped: { ...NOBODY_SKIPPED, no_address: 1, missing_params: 1 },
            segments: 1,
            longest: 1,
            offenders: [{ contactId: EXAMPLE.contact, missing: ['NAME'] }],
            earliest: '2026-12-01T08:00:00.000Z',
            latest: '2026-12-01T08:00:00.000Z',
          },
        },
        durationSeconds: null,
        warnings: [
          {
            path: 'settings.sms',
            code: 'many_skipped',
            message: '2 of 3 contacts are left out: no_address 1, missing_params 1',
            severity: 'warning',
          },
        ],
      }),
    ),
  },
  errors: ['not_found', 'campaign_started', ...REFERENCES, 'dependency_down', 'overloaded'],
};

export const listCampaigns: Operation = {
  id: 'listCampaigns',
  tag: 'Campaigns',
  summary: 'List campaigns',
  description: 'Newest first unless a `column` is named. Dates are inclusive.',
  parameters: { page: '1', limit: '20', channel: 'sms', search: 'spring', dateFrom: '01/01/2026' },
  answers: {
    200: json('A page of campaigns.', campaignList, {
      ...answered(200, 'Campaigns', [EDITED]),
      pagination: page(1),
      stopped: null,
    }),
  },
};

export const CAMPAIGN_COUNTS = Object.fromEntries(
  ['total', ...RECIPIENT_STATES].map((state) => [state, 0]),
) as Record<'total' | RecipientState, number>;

export const readCampaign: Operation = {
  ...ONE,
  id: 'readCampaign',
  tag: 'Campaigns',
  summary: 'Read a campaign, with counts',
  description:
    'Costs the same whatever the size of the audience. Counts move on when reports come after the campaign was completed.',
  answers: {
    200: json(
      'The campaign.',
      campaignDetail,
      answered(200, 'Campaign', {
        ...EDITED,
        updatedAt: EXAMPLE.at,
        createdBy: null,
        approval: null,
        settings: THREE.settings,
        contactListId: THREE.contactListId,
        inline: 0,
        params: THREE.params,
        class: THREE.class,
        delivery: THREE.delivery,
        voice: THREE.voice,
        release: { ...THREE.release, stage: 0, of: 2, next: null, judged: [] },
        counts: { email: CAMPAIGN_COUNTS, sms: CAMPAIGN_COUNTS, voice: CAMPAIGN_COUNTS },
        skipped: {},
        ratePerSecond: 0,
        eta: null,
        runId: null,
        workflowId: null,
        startedAt: null,
        finishedAt: null,
        recipientsDeletedAt: null,
        nextRunAt: null,
        nextLocalTime: null,
        reason: null,
        stopped: null,
      }),
    ),
  },
};

const acting = (
  action: Action,
  summary: string,
  description: string,
  then: Pick<Operation, 'errors'> & {
    message: string;
    status: 'active' | 'paused' | 'completed';
    phase: Phase;
  },
): Operation => ({
  ...ONE,
  id: `${action}Campaign`,
  tag: 'Campaigns',
  summary,
  description: `${description} Repeating it is harmless, and under an \`Idempotency-Key\` is the same call; where the phase does not allow it, 409 names the phase.`,
  body: { ...jsonBody(emptyBody, { empty: {} }), optional: true },
  answers: {
    200: json(
      'Done, or so already.',
      changedCampaign,
      answered(200, then.message, { ...EDITED, status: then.status, phase: then.phase }),
    ),
  },
  errors: ['illegal_transition', ...(then.errors ?? [])],
});
type Phase = 'planning' | 'paused' | 'canceled';

export const campaignActions: Record<Action, Operation> = {
  start: acting(
    'start',
    'Start a campaign',
    'A draft, or one that waits for its hour, which begins now. A recurring one has an occurrence now, unless one goes on, and its schedule goes on.',
    {
      message: 'Campaign started',
      status: 'active',
      phase: 'planning',
      errors: [...REFERENCES, 'no_audience', 'approval_required', 'dependency_down'],
    },
  ),
  pause: acting('pause', 'Pause a campaign', 'Nothing more is handed to a provider.', {
    message: 'Campaign paused',
    status: 'paused',
    phase: 'paused',
  }),
  resume: acting(
    'resume',
    'Resume a campaign',
    'One that is paused, or has failed, goes on where it stopped.',
    {
      message: 'Campaign resumed',
      status: 'active',
      phase: 'planning',
      errors: ['approval_required', 'recipients_deleted'],
    },
  ),
  cancel: acting('cancel', 'Cancel a campaign', 'For good: whoever was not written to will not be.', {
    message: 'Campaign canceled',
    status: 'active',
    phase: 'planning',
  }),
};

export const retryFailed: Operation = {
  ...ONE,
  id: 'retryFailedRecipients',
  tag: 'Campaigns',
  summary: 'Send again to recipients that were not reached',
  description:
    'To those of the current run whose state is one of `states`, and to nobody else; each gets a new attempt under a new uid. Possible while the campaign is `running`, `paused` or `finishing`, and when it is `completed` or `failed`: then it goes on. Whoever is sent to again waits, so repeating it right away finds nobody; under an `Idempotency-Key` it is of those who had failed when it was called first.',
  body: { ...jsonBody(retryFailedBody, { failed: { states: ['failed', 'undelivered'] } }), optional: true },
  answers: {
    200: json(
      'They are sent to again.',
      retriedCampaign,
      answered(200, 'Recipients are sent to again', {
        ...EDITED,
        status: 'active',
        phase: 'running',
        retried: { email: 0, sms: 0, voice: 0 },
      }),
    ),
  },
  errors: ['illegal_transition', 'approval_required', 'dependency_down'],
};

export const releaseStages: Operation = {
  ...ONE,
  id: 'releaseCampaign',
  tag: 'Campaigns',
  summary: 'Let the next stage go',
  description:
    'Ends the wait after the stage that has begun; while that stage is being sent, leaves out the wait that comes. `stages` says of how many stages, `all` of all that are left. Each stage is still sent after the one before, and gates are judged. 409 for a campaign without `release`, at a closed gate, which `resume` goes past, before the start and after the end.',
  body: { ...jsonBody(releaseBody, { next: { stages: 1 } }), optional: true },
  answers: {
    200: json(
      'The wait is over.',
      releasedCampaign,
      answered(200, 'Stages are released', {
        ...EDITED,
        status: 'active',
        phase: 'planning',
        release: { ...THREE.release, stage: 0, of: 2, next: null, judged: [] },
      }),
    ),
  },
  errors: ['illegal_transition', 'approval_required'],
};

export const changeCampaign: Operation = {
  ...ONE,
  id: 'changeCampaign',
  tag: 'Campaigns',
  summary: 'Change the pace of a campaign',
  description:
    'While it goes on, or before. `ratePerSecond` is what all its channels together take on in a second; null removes a bound. It holds within a second or two. It takes an approval back: a campaign that needs one is paused with `approval_required`.',
  body: jsonBody(campaignChange, { pace: { delivery: { ratePerSecond: 50 } } }),
  answers: {
    200: json(
      'Changed.',
      changedDelivery,
      answered(200, 'Campaign updated', {
        ...EDITED,
        status: 'active',
        phase: 'planning',
        delivery: { ...THREE.delivery, ratePerSecond: 50 },
      }),
    ),
  },
  errors: ['illegal_transition'],
};

export const duplicateCampaign: Operation = {
  ...ONE,
  id: 'duplicateCampaign',
  tag: 'Campaigns',
  summary: 'Duplicate a campaign',
  description:
    'A new draft with the same settings, lists and templates, and its own name; hours that have passed are left out. Lists and templates are looked up when it starts.',
  body: { ...jsonBody(emptyBody, { empty: {} }), optional: true },
  answers: {
    201: json(
      'The draft.',
      savedCampaign,
      answered(201, 'Campaign duplicated', {
        ...EDITED,
        id: 'cmp_01kbv8cccg0zype6sbccc8r8kx',
        name: `${EDITED.name} (copy)`,
        warnings: [],
      }),
    ),
  },
};

export const listRuns: Operation = {
  id: 'listCampaignRuns',
  tag: 'Campaigns',
  summary: 'List the runs of a campaign',
  description:
    'Newest first. Each occurrence of a recurring campaign is a run with its own audience; one that was left out is `canceled` and says why.',
  parameters: { id: EXAMPLE.campaign, limit: '20' },
  answers: {
    200: json('A page of runs.', runs, {
      ...answered(200, 'Runs', [
        {
          id: EXAMPLE.run,
          number: 1,
          phase: 'completed',
          scheduledFor: EXAMPLE.at,
          localTime: null,
          startedAt: EXAMPLE.at,
          finishedAt: EXAMPLE.at,
          recipientsDeletedAt: null,
          reason: null,
          counts: { sms: { ...CAMPAIGN_COUNTS, total: 2, delivered: 2 } },
          skipped: { sms: NOBODY_SKIPPED },
          workflowId: `campaign:${EXAMPLE.run}`,
        },
      ]),
      next: null,
      stopped: null,
    }),
  },
};
