import { z } from 'zod';
import type { Campaigns } from '../campaigns/campaigns';
import {
  campaignBody,
  campaignChange,
  campaignDetail,
  campaignList,
  campaignListQuery,
  changedDelivery,
  emptyBody,
  savedCampaign,
} from '../contracts/campaigns';
import { answer, idParams } from '../contracts/common';
import { contactImportQuery } from '../contracts/contact-lists';
import { dryRun } from '../contracts/dry-run';
import { LIMITS } from '../domain/limits';
import { RECIPIENT_STATES, type RecipientState, SKIP_REASONS, type Skipped } from '../domain/recipient';
import { contactRow } from './openapi/contact-row';
import { answered, EXAMPLE, page } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { requireMore } from './request/access';
import { callerOf } from './request/caller';
import { readCampaignRequest, takesCampaigns } from './request/campaign-body';
import { generatorOf, noteOf } from './request/idempotency';
import type { App } from './request/routing';
import { parseBody } from './request/validation';

const config = { auth: 'campaign' } as const;
const once = { ...config, idempotent: true } as const;
const each = { checksEach: 'recipients' } as const;

/** messaging-service.md, Create campaign and List campaigns; api.md 7. */
export function campaignRoutes(app: App, { campaigns }: { campaigns: Campaigns }): void {
  const large = takesCampaigns(app);
  const posted = { body: campaignBody, querystring: contactImportQuery };
  const created = { operation: createCampaign, ...posted };
  const creating = { ...large, config: { ...once, ...each }, schema: created } as const;
  app.post('/api/campaign', creating, async (request, reply) => {
    if (startsIt(request.body)) requireMore(request);
    const asked = await readCampaignRequest(request, campaigns.unknownReferences);
    const { recipients, requireDue } = asked;
    const { workspaceId, userId } = callerOf(request);
    const newCampaignId = generatorOf(request).id('cmp');
    const requireStart = () => requireMore(request);
    const call = { userId, newCampaignId, recipients, note: noteOf(request), requireStart, requireDue };
    const done = await asked.withLeftOut(campaigns.save(workspaceId, request.body, call));
    const saved = asked.answered(done);
    if (request.body.campaignId) return answer(200, 'Campaign updated', saved);
    return reply.code(201).send(answer(201, 'Campaign created', saved));
  });

  const tried = { operation: dryRunCampaign, ...posted };
  const trying = { ...large, config: { ...config, ...each }, schema: tried } as const;
  app.post('/api/campaign/dry-run', trying, async (request) => {
    const asked = await readCampaignRequest(request, campaigns.unknownReferences);
    await asked.requireDue();
    const { workspaceId } = callerOf(request);
    const tried = await asked.withLeftOut(campaigns.dryRun(workspaceId, request.body, asked.recipients));
    return answer(200, 'Nothing was sent', asked.answered(tried));
  });

  app.get(
    '/api/campaign',
    { config, schema: { operation: listCampaigns, querystring: campaignListQuery } },
    async (request) => {
      const { page, limit } = request.query;
      const { workspaceId } = callerOf(request);
      const { campaigns: found, total } = await campaigns.list(workspaceId, request.query);
      const stopped = await campaigns.currentStop(workspaceId);
      return { ...answer(200, 'Campaigns', found), pagination: { page, limit, total }, stopped };
    },
  );

  app.get(
    '/api/campaign/:id',
    { config, schema: { operation: readCampaign, params: idParams } },
    async (request) => {
      return answer(200, 'Campaign', await campaigns.read(callerOf(request).workspaceId, request.params.id));
    },
  );

  const changing = { operation: changeCampaign, params: idParams, body: campaignChange };
  app.patch('/api/campaign/:id', { config, schema: changing }, async (request) => {
    if (request.body.delivery !== undefined) requireMore(request);
    const { workspaceId } = callerOf(request);
    const found = await campaigns.amend(workspaceId, request.params.id, request.body);
    return answer(200, 'Campaign updated', found);
  });

  const copying = {
    config: once,
    schema: { operation: duplicateCampaign, params: idParams },
  } as const;
  app.post('/api/campaign/:id/duplicate', copying, async (request, reply) => {
    parseBody(emptyBody, request.body);
    const { workspaceId, userId } = callerOf(request);
    const newCampaignId = generatorOf(request).id('cmp');
    const copy = await campaigns.duplicate(workspaceId, request.params.id, { userId, newCampaignId });
    return reply.code(201).send(answer(201, 'Campaign duplicated', copy));
  });
}

/**
 * Problems of the body are reported later, so that it may be anything. An edit without `start` leaves a draft a
 * draft; what it means for other campaigns is known once the campaign is read (`requireStart`).
 */
function startsIt(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false;
  const { start, campaignId } = body as { start?: unknown; campaignId?: unknown };
  return start === undefined ? !campaignId : start !== false;
}

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

/** For readers of the document, because rows are checked one by one. */
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
  tags: [] as string[],
  archived: false,
};
export const THREE = {
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
export const EDITED = { ...DRAFT, name: THREE.name, channel: THREE.channel };
export const ONE = { parameters: { id: EXAMPLE.campaign } };

export const REFERENCES = [
  'template_not_found',
  'contact_list_not_found',
  'campaign_not_found',
  'missing_params',
] as const;

/** What saving a campaign refuses, and so a dry run. */
const SAVING = [
  'not_found',
  'campaign_started',
  ...REFERENCES,
  'insecure_links',
  'no_audience',
  'limit_reached',
  'dependency_down',
] as const;

export const NONE_SKIPPED = Object.fromEntries(SKIP_REASONS.map((reason) => [reason, 0])) as Skipped;

const createCampaign: Operation = {
  id: 'createCampaign',
  access: {
    ...{ role: 'editor', scopes: ['campaigns'] },
    more: {
      when: '`start` is not false, or the edited campaign would start by itself',
      role: 'sender',
      scopes: ['campaigns', 'send'],
    },
  },
  tag: 'Campaigns',
  summary: 'Create or edit a campaign',
  description:
    'With a `campaignId`, edits that campaign, which is possible while its phase is `draft` or `scheduled`, or `paused` before it has begun, and no occurrence of it goes on; what is paused stays so unless `start` is true. It starts at once, or when `schedule.startAt` says, or again and again by `schedule.cron`, unless `start` is false. `settings` has exactly the listed channels; templates and lists must exist, and every placeholder must be one that at least one contact has a value for. `exclude.campaignIds` leaves out whom those campaigns have reached on the same channel when the audience is frozen (states `sending`, `accepted`, `sent`, `delivered` and `unknown`), by contact and by address.\n\nWith more contacts than the policy’s `approval` allows it stays a draft, or becomes one, whatever `start` says, until `POST …/approve`.\n\n`recipients` beside `contactListId` or in its place creates and starts a campaign in one call. Each row is checked alone, as a row of an import is, with `?country=` as the region of phone numbers; one wrong row refuses the whole request, unless `skipInvalid` is true. Recipients become contacts of the workspace, in an audience of this campaign alone; their `params` go before the contact’s own and stay with the campaign. An edit with `recipients` replaces that audience, one without keeps it.',
  parameters: { country: 'US' },
  body: jsonBody(campaignBody, { create: CREATE, edit: THREE, trigger: TRIGGER }, SHOWN),
  answers: {
    201: json('Created.', savedCampaign, answered(201, 'Campaign created', { ...DRAFT, warnings: [] })),
    200: json('Edited.', savedCampaign, answered(200, 'Campaign updated', { ...EDITED, warnings: [] })),
  },
  errors: SAVING,
};

const dryRunCampaign: Operation = {
  id: 'dryRunCampaign',
  access: { role: 'editor', scopes: ['campaigns'] },
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
            skipped: { ...NONE_SKIPPED, no_address: 1, missing_params: 1 },
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
  errors: [...SAVING, 'overloaded'],
};

const listCampaigns: Operation = {
  id: 'listCampaigns',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'List campaigns',
  description: 'Newest first unless a `column` is named. Dates are inclusive, and days of UTC.',
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

const readCampaign: Operation = {
  ...ONE,
  id: 'readCampaign',
  access: { role: 'viewer', scopes: ['read'] },
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

const changeCampaign: Operation = {
  ...ONE,
  id: 'changeCampaign',
  access: {
    ...{ role: 'editor', scopes: ['campaigns'] },
    more: { when: '`delivery` is given', role: 'sender', scopes: ['campaigns'] },
  },
  tag: 'Campaigns',
  summary: 'Change the name, tags or pace of a campaign',
  description:
    '`name`, `tags` and `archived` in any phase, though a campaign that is live is not archived (409); one that starts or goes on again is no longer archived. `delivery` while it goes on, or before: `ratePerSecond` is what all its channels together take on in a second; null removes a bound. It holds within a second or two. It takes an approval back: a campaign that needs one is paused with `approval_required`.',
  body: jsonBody(campaignChange, {
    pace: { delivery: { ratePerSecond: 50 } },
    tags: { name: 'Spring sale, last days', tags: ['sale', 'spring'] },
  }),
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

const duplicateCampaign: Operation = {
  ...ONE,
  id: 'duplicateCampaign',
  access: { role: 'editor', scopes: ['campaigns'] },
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
        id: 'cmp_01kbv8cccg0zype6sbc',
        name: `${EDITED.name} (copy)`,
        warnings: [],
      }),
    ),
  },
};
