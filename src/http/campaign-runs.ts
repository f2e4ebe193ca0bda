import type { Campaigns } from '../campaigns/campaigns';
import { runPosition, runQuery, runs } from '../contracts/campaign-runs';
import { answer, decodeCursor, encodeCursor, idParams } from '../contracts/common';
import { CAMPAIGN_COUNTS, NONE_SKIPPED } from './campaigns';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { unknownCursor } from './request/validation';

const config = { auth: 'campaign' } as const;

/** The runs of a campaign, newest first (api.md 7). */
export function campaignRunRoutes(app: App, { campaigns }: { campaigns: Campaigns }): void {
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
}

const listRuns: Operation = {
  id: 'listCampaignRuns',
  access: { role: 'viewer', scopes: ['read'] },
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
          skipped: { sms: NONE_SKIPPED },
          workflowId: `campaign:${EXAMPLE.run}`,
        },
      ]),
      next: null,
      stopped: null,
    }),
  },
};
