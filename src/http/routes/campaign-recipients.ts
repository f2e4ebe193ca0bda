import { Readable } from 'node:stream';
import type { Campaigns } from '../../campaigns/campaigns';
import { recipientsBody } from '../../contracts/campaign-recipients';
import { answer, idParams } from '../../contracts/common';
import { contactImportQuery } from '../../contracts/contact-lists';
import { LIMITS } from '../../domain/limits';
import { callerOf } from '../caller';
import { appendRecipients } from '../operations/campaign-recipients';
import { regionOf } from '../phone-country';
import type { App } from '../routing';
import { parseBody } from '../validation';

const STREAMED = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' } as const;

/** Recipients of a campaign that has not started (api.md 19). */
export function campaignRecipientRoutes(app: App, { campaigns }: { campaigns: Campaigns }): void {
  // The stream itself: it is read as fast as rows can be stored, and never held in memory as a whole.
  app.addContentTypeParser(Object.keys(STREAMED), (_request, stream, done) => done(null, stream));

  const appending = { operation: appendRecipients, params: idParams, querystring: contactImportQuery };
  // Contacts are identified by their content, so that a repeated append adds none twice.
  const config = { auth: 'campaign', idempotent: true } as const;
  const options = { config, bodyLimit: LIMITS.bulkBodyBytes, schema: appending } as const;
  app.post('/api/campaign/:id/recipients', options, async (request) => {
    const { body } = request;
    const target = {
      workspaceId: callerOf(request).workspaceId,
      campaignId: request.params.id,
      country: regionOf(request.query.country),
    };
    if (body instanceof Readable) {
      await campaigns.requireAppendable(target);
      const type = STREAMED[contentTypeOf(request.headers['content-type'])];
      return answer(200, 'Recipients added', await campaigns.appendStream(target, body, type));
    }
    const rows = parseBody(recipientsBody, body).recipients.map((raw, i) => ({ line: i + 1, raw }));
    await campaigns.requireAppendable(target);
    return answer(200, 'Recipients added', await campaigns.appendRows(target, rows));
  });
}

/** Only the streamed types reach a handler as a stream. */
const contentTypeOf = (header: string | undefined): keyof typeof STREAMED =>
  /^text\/csv\b/i.test(header ?? '') ? 'text/csv' : 'application/x-ndjson';
