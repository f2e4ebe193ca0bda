import type { Campaigns } from '../../campaigns/campaigns';
import { releaseBody } from '../../contracts/campaign-release';
import {
  campaignBody,
  campaignChange,
  campaignListQuery,
  emptyBody,
  recipientPosition,
  recipientQuery,
  retryFailedBody,
  runPosition,
  runQuery,
} from '../../contracts/campaigns';
import { answer, decodeCursor, encodeCursor, idParams } from '../../contracts/common';
import { contactImportQuery } from '../../contracts/contact-lists';
import type { Action } from '../../domain/campaign';
import { LIMITS } from '../../domain/limits';
import { RETRIED } from '../../domain/recipient';
import { requireMore } from '../access';
import { callerOf } from '../caller';
import { readCampaignRequest } from '../campaign-body';
import { generatorOf, noteOf } from '../idempotency';
import { listRecipients } from '../operations/campaign-recipients';
import {
  campaignActions,
  changeCampaign,
  createCampaign,
  dryRunCampaign,
  duplicateCampaign,
  listCampaigns,
  listRuns,
  readCampaign,
  releaseStages,
  retryFailed,
} from '../operations/campaigns';
import type { App } from '../routing';
import { invalidRequest, parseBody } from '../validation';
import { seesAddresses } from '../viewers';

const config = { auth: 'campaign' } as const;
const once = { ...config, idempotent: true } as const;

/** messaging-service.md, Create campaign and List campaigns; api.md 7. */
export function campaignRoutes(app: App, { campaigns }: { campaigns: Campaigns }): void {
  // Problems of the body are attached, so that they are reported together with those of its recipients.
  const large = { bodyLimit: LIMITS.bulkBodyBytes, attachValidation: true };
  const posted = { body: campaignBody, querystring: contactImportQuery };
  const creating = { ...large, config: once, schema: { operation: createCampaign, ...posted } } as const;
  app.post('/api/campaign', creating, async (request, reply) => {
    if (startsIt(request.body)) requireMore(request);
    const { recipients, rejected } = await readCampaignRequest(request);
    const { workspaceId, userId } = callerOf(request);
    const newCampaignId = generatorOf(request).id('cmp');
    const requireStart = () => requireMore(request);
    const call = { userId, newCampaignId, recipients, note: noteOf(request), requireStart };
    const saved = { ...(await campaigns.save(workspaceId, request.body, call)), ...rejected };
    if (request.body.campaignId) return answer(200, 'Campaign updated', saved);
    return reply.code(201).send(answer(201, 'Campaign created', saved));
  });

  const trying = { ...large, config, schema: { operation: dryRunCampaign, ...posted } } as const;
  app.post('/api/campaign/dry-run', trying, async (request) => {
    const { recipients, rejected } = await readCampaignRequest(request);
    const tried = await campaigns.dryRun(callerOf(request).workspaceId, request.body, recipients);
    return answer(200, 'Nothing was sent', { ...tried, ...rejected });
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
    const { states = RETRIED } = parseBody(retryFailedBody, request.body) ?? {};
    const { workspaceId } = callerOf(request);
    const found = await campaigns.retryFailed(workspaceId, request.params.id, states, noteOf(request));
    return answer(200, 'Recipients are sent to again', found);
  });

  const releasing = { config: once, schema: { operation: releaseStages, params: idParams } };
  app.post('/api/campaign/:id/release', releasing, async (request) => {
    const { stages = 1 } = parseBody(releaseBody, request.body) ?? {};
    const { workspaceId } = callerOf(request);
    const found = await campaigns.release(workspaceId, request.params.id, stages, noteOf(request));
    return answer(200, 'Stages are released', found);
  });

  const changing = { operation: changeCampaign, params: idParams, body: campaignChange };
  app.patch('/api/campaign/:id', { config, schema: changing }, async (request) => {
    if (request.body.delivery !== undefined) requireMore(request);
    const { workspaceId } = callerOf(request);
    const found = await campaigns.changeDelivery(workspaceId, request.params.id, request.body.delivery);
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

  const runs = { operation: listRuns, params: idParams, querystring: runQuery };
  app.get('/api/campaign/:id/runs', { config, schema: runs }, async (request) => {
    const { cursor, limit } = request.query;
    const after = cursor === undefined ? undefined : decodeCursor(runPosition, cursor);
    if (cursor !== undefined && after === undefined) throw unknownCursor();
    const { workspaceId } = callerOf(request);
    const page = { before: after?.number, limit };
    const { runs, next } = await campaigns.runs(workspaceId, request.params.id, page);
    const stopped = await campaigns.currentStop(workspaceId);
    return { ...answer(200, 'Runs', runs), next: next ? encodeCursor({ number: next }) : null, stopped };
  });

  const listing = { operation: listRecipients, params: idParams, querystring: recipientQuery };
  app.get('/api/campaign/:id/recipients', { config, schema: listing }, async (request) => {
    const { cursor, ...options } = request.query;
    const after = cursor === undefined ? undefined : decodeCursor(recipientPosition, cursor);
    if (cursor !== undefined && after === undefined) throw unknownCursor();
    const { workspaceId } = callerOf(request);
    const { recipients, next } = await campaigns.recipients(workspaceId, request.params.id, {
      ...options,
      hidesAddresses: !seesAddresses(request),
      after,
    });
    const stopped = await campaigns.currentStop(workspaceId);
    return { ...answer(200, 'Recipients', recipients), next: next ? encodeCursor(next) : null, stopped };
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

const ACTIONS: Record<Action, string> = {
  start: 'Campaign started',
  pause: 'Campaign paused',
  resume: 'Campaign resumed',
  cancel: 'Campaign canceled',
};

const unknownCursor = () =>
  invalidRequest([{ path: 'cursor', code: 'invalid_cursor', message: 'This is no cursor of this list' }]);
