import { Readable } from 'node:stream';
import type { Campaigns } from '../../campaigns/campaigns';
import type { Explanation, Explanations } from '../../campaigns/explain/explain';
import type { SkippedContact } from '../../campaigns/explain/skipped';
import { answer, decodeCursor, encodeCursor, idParams, timestamp } from '../../contracts/common';
import { csvRow } from '../../contracts/csv-row';
import {
  explainQuery,
  recipientKey,
  skippedExportQuery,
  skippedPosition,
  skippedQuery,
} from '../../contracts/explain';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { callerOf } from '../caller';
import { explainPerson, explainRecipient, exportSkipped, listSkipped } from '../operations/explain';
import type { App } from '../routing';
import { invalidRequest } from '../validation';
import { seesAddresses } from '../viewers';
import { fileNameOf } from './campaign-reports';

const config = { auth: 'campaign' } as const;

/** Why a person was sent a message, or was not (api.md 19). */
export function explainRoutes(
  app: App,
  {
    campaigns,
    explanations,
  }: { campaigns: Pick<Campaigns, 'skipped' | 'skippedPages'>; explanations: Explanations },
): void {
  const ofRecipient = { operation: explainRecipient, params: recipientKey };
  app.get('/api/campaign/:id/recipients/:recipientId', { config, schema: ofRecipient }, async (request) => {
    const { id, recipientId } = request.params;
    const found = await explanations.recipient(callerOf(request).workspaceId, id, recipientId);
    return answer(200, 'Explanation', present(found));
  });

  const ofPerson = { operation: explainPerson, querystring: explainQuery };
  app.get('/api/explain', { config, schema: ofPerson }, async (request) => {
    const { campaign: campaignId, ...query } = request.query;
    const { workspaceId } = callerOf(request);
    if (query.to !== undefined && !seesAddresses(request)) throw notFoundByAddress(campaignId);
    const { others, ...found } = await explanations.person({ workspaceId, campaignId, ...query });
    return answer(200, 'Explanation', { ...present(found), others });
  });

  const listing = { operation: listSkipped, params: idParams, querystring: skippedQuery };
  app.get('/api/campaign/:id/skipped', { config, schema: listing }, async (request) => {
    const { cursor, ...options } = request.query;
    const after = cursor === undefined ? undefined : decodeCursor(skippedPosition, cursor);
    if (cursor !== undefined && after === undefined) throw unknownCursor();
    const { workspaceId } = callerOf(request);
    const { skipped, next } = await campaigns.skipped(workspaceId, request.params.id, { ...options, after });
    return { ...answer(200, 'Contacts that were left out', skipped), next: next ? encodeCursor(next) : null };
  });

  const exporting = { operation: exportSkipped, params: idParams, querystring: skippedExportQuery };
  // Without HEAD, because it would read a million rows and return none of them.
  const options = { config, schema: exporting, exposeHeadRoute: false };
  app.get('/api/campaign/:id/skipped.csv', options, async (request, reply) => {
    const { id } = request.params;
    const filter = { ...request.query, pageSize: LIMITS.longPageSizeMax };
    const pages = await campaigns.skippedPages(callerOf(request).workspaceId, id, filter);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="skipped-${fileNameOf(id)}.csv"`)
      .send(Readable.from(toCsv(pages), { objectMode: false }));
  });
}

/** As for an address that the campaign does not have. */
const notFoundByAddress = (campaignId: string) =>
  new DomainError(
    'not_found',
    `Campaign ${campaignId} neither has this person as a recipient nor left them out`,
  );

const unknownCursor = () =>
  invalidRequest([{ path: 'cursor', code: 'invalid_cursor', message: 'This is no cursor of this list' }]);

const COLUMNS = ['contactId', 'channel', 'address', 'reason', 'evidence'] as const;

async function* toCsv(pages: AsyncIterable<SkippedContact[]>): AsyncGenerator<string> {
  yield csvRow(COLUMNS);
  for await (const page of pages) {
    yield page.map((one) => csvRow(COLUMNS.map((column) => one[column] ?? ''))).join('');
  }
}

function present({ next, steps, ...explanation }: Explanation) {
  return {
    ...explanation,
    next: next && { ...next, ...(next.at ? { at: timestamp(next.at) } : {}) },
    steps: steps.map((step) => ({ ...step, at: timestamp(step.at) })),
  };
}
