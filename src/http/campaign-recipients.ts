import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Campaigns } from '../campaigns/campaigns';
import {
  recipientPosition,
  recipientQuery,
  recipients,
  recipientsBody,
} from '../contracts/campaign-recipients';
import { answer, decodeCursor, encodeCursor, idParams } from '../contracts/common';
import { contactImportQuery, importedContacts } from '../contracts/contact-lists';
import { LIMITS } from '../domain/limits';
import { contactRow } from './openapi/contact-row';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { regionOf } from './request/phone-country';
import type { App } from './request/routing';
import { parseBody, unknownCursor } from './request/validation';
import { seesAddresses } from './request/viewers';
import { admitted } from './request/while-admitted';

const STREAMED = { 'text/csv': 'csv', 'application/x-ndjson': 'ndjson' } as const;

/** Adding recipients to a campaign that has not started (api.md 19), and listing those of a run (api.md 7). */
export function campaignRecipientRoutes(app: App, { campaigns }: { campaigns: Campaigns }): void {
  // The stream itself: it is read as fast as rows can be stored, and never held in memory as a whole.
  app.addContentTypeParser(Object.keys(STREAMED), (_request, stream, done) => done(null, stream));

  const appending = { operation: appendRecipients, params: idParams, querystring: contactImportQuery };
  // Contacts are identified by their content, so that a repeated append adds none twice.
  const config = { auth: 'campaign', idempotent: true, checksEach: 'recipients' } as const;
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
      return answer(
        200,
        'Recipients added',
        await campaigns.appendStream(target, admitted(request, body), type),
      );
    }
    const rows = parseBody(recipientsBody, body).recipients.map((raw, i) => ({ line: i + 1, raw }));
    await campaigns.requireAppendable(target);
    return answer(200, 'Recipients added', await campaigns.appendRows(target, rows));
  });

  const listing = { operation: listRecipients, params: idParams, querystring: recipientQuery };
  app.get(
    '/api/campaign/:id/recipients',
    { config: { auth: 'campaign' }, schema: listing },
    async (request) => {
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
    },
  );
}

/** Only the streamed types reach a handler as a stream. */
const contentTypeOf = (header: string | undefined): keyof typeof STREAMED =>
  /^text\/csv\b/i.test(header ?? '') ? 'text/csv' : 'application/x-ndjson';

const LINES = `{"externalId":"c-3","phone":"+12025550147","params":{"CODE":"A-17"}}
{"email":"linus@example.com","name":"Linus","params":{"CODE":"A-18"}}
`;

const CSV = `externalId,phone,code
c-3,+12025550147,A-17
`;

const appendRecipients: Operation = {
  id: 'addCampaignRecipients',
  access: { role: 'editor', scopes: ['campaigns'] },
  bound: 'imports',
  tag: 'Campaigns',
  summary: 'Add recipients to a campaign',
  description:
    'For audiences too large for one request: create the campaign with `start: false`, add its recipients, then start it. JSON of up to 10,000, or newline-delimited JSON or CSV of any length, read as fast as it can be stored; a line has at most 64 KiB. Each row is checked alone, as a row of an import is, and the answer is that of an import: its counts are of contacts. Possible while the campaign can be edited; once it has started the answer is `campaign_started`, and what was added before that stays. Adding the same rows again changes nothing, which is what to do when a connection broke. An `Idempotency-Key` is heeded for JSON.',
  parameters: { id: EXAMPLE.campaign, country: 'US' },
  body: {
    content: {
      'application/json': {
        schema: recipientsBody,
        shown: z.strictObject({ recipients: z.array(contactRow).max(LIMITS.contactsPerRequest) }),
        examples: {
          recipients: {
            recipients: [{ externalId: 'c-3', phone: '(202) 555-0147', params: { CODE: 'A-17' } }],
          },
        },
      },
      'application/x-ndjson': { schema: z.string(), examples: { lines: LINES } },
      'text/csv': { schema: z.string(), examples: { table: CSV } },
    },
  },
  answers: {
    200: json(
      'What became of the rows.',
      importedContacts,
      answered(200, 'Recipients added', {
        received: 1,
        created: 1,
        updated: 0,
        unchanged: 0,
        rejected: 0,
        errors: [],
      }),
    ),
  },
  errors: ['campaign_started'],
};

const listRecipients: Operation = {
  id: 'listCampaignRecipients',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'List the recipients of a campaign',
  description: 'Of the current run or the one of `runId`, by channel and in the order in which they are due.',
  parameters: { id: EXAMPLE.campaign, channel: 'sms', limit: '100' },
  answers: {
    200: json('A page of recipients.', recipients, {
      ...answered(200, 'Recipients', [
        {
          id: `${EXAMPLE.run}.sms.0`,
          contactId: EXAMPLE.contact,
          channel: 'sms',
          address: '+12025550123',
          state: 'delivered',
          outcome: null,
          code: null,
          attempts: 1,
          uid: `${EXAMPLE.run}.sms.0000000.00000.1`,
          dueAt: EXAMPLE.at,
          updatedAt: EXAMPLE.at,
        },
      ]),
      next: null,
      stopped: null,
    }),
  },
};
