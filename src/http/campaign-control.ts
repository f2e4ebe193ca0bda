import type { Campaigns } from '../campaigns/campaigns';
import { releaseBody } from '../contracts/campaign-release';
import { retryFailedBody } from '../contracts/campaign-runs';
import { changedCampaign, emptyBody, releasedCampaign, retriedCampaign } from '../contracts/campaigns';
import { answer, idParams } from '../contracts/common';
import type { Action } from '../domain/campaign';
import { RETRIED } from '../domain/recipient';
import { EDITED, ONE, REFERENCES, THREE } from './campaigns';
import { answered } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { noteOf } from './request/idempotency';
import type { App } from './request/routing';
import { parseBody } from './request/validation';

const config = { auth: 'campaign' } as const;
const once = { ...config, idempotent: true } as const;

/** Actions upon a campaign that exists (messaging-service.md, Pause and resume; api.md 7). */
export function campaignControlRoutes(app: App, { campaigns }: { campaigns: Campaigns }): void {
  for (const [action, done] of Object.entries(ACTIONS) as [Action, string][]) {
    const acting = { config: once, schema: { operation: campaignActions[action], params: idParams } };
    app.post(`/api/campaign/:id/${action}`, acting, async (request) => {
      parseBody(emptyBody, request.body);
      const { workspaceId } = callerOf(request);
      const changed = await campaigns.act(workspaceId, request.params.id, action, noteOf(request));
      return answer(200, done, changed);
    });
  }

  const again = { config: once, schema: { operation: retryFailed, params: idParams } };
  app.post('/api/campaign/:id/retry-failed', again, async (request) => {
    const { states = RETRIED, codes } = parseBody(retryFailedBody, request.body) ?? {};
    const { workspaceId } = callerOf(request);
    const found = await campaigns.retryFailed(
      workspaceId,
      request.params.id,
      { states, codes },
      noteOf(request),
    );
    return answer(200, 'Recipients are sent to again', found);
  });

  const releasing = { config: once, schema: { operation: releaseStages, params: idParams } };
  app.post('/api/campaign/:id/release', releasing, async (request) => {
    const { stages = 1 } = parseBody(releaseBody, request.body) ?? {};
    const { workspaceId } = callerOf(request);
    const found = await campaigns.release(workspaceId, request.params.id, stages, noteOf(request));
    return answer(200, 'Stages are released', found);
  });
}

const ACTIONS: Record<Action, string> = {
  start: 'Campaign started',
  pause: 'Campaign paused',
  resume: 'Campaign resumed',
  cancel: 'Campaign canceled',
};

/** An editor may stop what sends, and start nothing. */
const SENDS: ReadonlySet<Action> = new Set(['start', 'resume']);

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
  access: { role: SENDS.has(action) ? 'sender' : 'editor', scopes: ['send'] },
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

const campaignActions: Record<Action, Operation> = {
  start: acting(
    'start',
    'Start a campaign',
    'A draft, or one that waits for its hour, which begins now. A recurring one has an occurrence now, unless one goes on, and its schedule goes on.',
    {
      message: 'Campaign started',
      status: 'active',
      phase: 'planning',
      errors: [...REFERENCES, 'insecure_links', 'no_audience', 'approval_required', 'dependency_down'],
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
      errors: ['approval_required', 'contact_list_not_found', 'recipients_deleted'],
    },
  ),
  cancel: acting('cancel', 'Cancel a campaign', 'For good: recipients who were not written to will not be.', {
    message: 'Campaign canceled',
    status: 'completed',
    phase: 'canceled',
  }),
};

const retryFailed: Operation = {
  ...ONE,
  id: 'retryFailedRecipients',
  access: { role: 'sender', scopes: ['send'] },
  tag: 'Campaigns',
  summary: 'Send again to recipients that were not reached',
  description:
    'To those of the current run whose state is one of `states` and, with `codes`, whose code is one of these, and to no other recipient; `rejected` needs `codes`; each gets a new attempt under a new uid. Possible while the campaign is `running`, `paused` or `finishing`, and when it is `completed` or `failed`: then it goes on. Recipients that are sent to again wait, so that repeating the call right away finds none; under an `Idempotency-Key` it concerns those who had failed at the first call.',
  body: {
    ...jsonBody(retryFailedBody, {
      failed: { states: ['failed', 'undelivered'] },
      codes: { states: ['rejected'], codes: ['insufficient_balance'] },
    }),
    optional: true,
  },
  answers: {
    200: json(
      'They are sent to again.',
      retriedCampaign,
      answered(200, 'Recipients are sent to again', {
        ...EDITED,
        status: 'active',
        phase: 'running',
        count: 0,
        retried: { email: 0, sms: 0, voice: 0 },
      }),
    ),
  },
  errors: ['illegal_transition', 'approval_required', 'contact_list_not_found', 'dependency_down'],
};

const releaseStages: Operation = {
  ...ONE,
  id: 'releaseCampaign',
  access: { role: 'sender', scopes: ['send'] },
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
