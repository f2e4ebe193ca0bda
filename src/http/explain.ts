import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Campaigns } from '../campaigns/campaigns';
import type { Explanation, Explanations } from '../campaigns/explain/explain';
import type { SkippedContact } from '../campaigns/explain/skipped';
import { answer, decodeCursor, encodeCursor, idParams, timestamp } from '../contracts/common';
import { csvRow } from '../contracts/csv-row';
import {
  explainQuery,
  personExplanation,
  recipientExplanation,
  recipientKey,
  skippedContacts,
  skippedExportQuery,
  skippedPosition,
  skippedQuery,
} from '../contracts/explain';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { fileNameOf } from './campaign-reports';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { unknownCursor } from './request/validation';
import { seesAddresses } from './request/viewers';
import { whileAdmitted } from './request/while-admitted';

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
      .send(Readable.from(toCsv(whileAdmitted(request, pages)), { objectMode: false }));
  });
}

/** As for an address that the campaign does not have. */
const notFoundByAddress = (campaignId: string) =>
  new DomainError(
    'not_found',
    `Campaign ${campaignId} neither has this person as a recipient nor left them out`,
  );

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

const UID = `${EXAMPLE.run}.sms.0000000.0`;

const WAITING = {
  recipient: {
    id: `${EXAMPLE.run}.sms.0`,
    contactId: EXAMPLE.contact,
    channel: 'sms' as const,
    address: '+12025550123',
    state: 'waiting' as const,
    outcome: null,
    code: 'quiet_hours',
    attempts: 0,
    uid: UID,
    dueAt: EXAMPLE.at,
    updatedAt: EXAMPLE.at,
  },
  summary:
    'The SMS of the campaign “Spring” waits for this recipient. It is within quiet hours, in which nothing is sent to this recipient. It goes on at 2026-11-21 10:15 UTC.',
  next: {
    at: EXAMPLE.at,
    why: 'quiet_hours' as const,
    detail: 'It is within quiet hours, in which nothing is sent to this recipient.',
  },
  steps: [
    {
      at: EXAMPLE.at,
      what: 'frozen' as const,
      detail:
        'The audience was frozen, and the contact became a recipient on the sms channel, from “Readers”.',
      data: { runId: EXAMPLE.run, contactLists: [{ id: EXAMPLE.list, name: 'Readers' }] },
    },
  ],
};

const EVIDENCE =
  'The phone number was on the suppression list since 2026-11-01 08:30 UTC, by a keyword that the subscriber wrote. The reason given is: SMS: STOP.';

const TOLD = `\`summary\`, \`detail\` and \`evidence\` are sentences that can be read out; no address is in them.

\`next.why\` is the reason for which the recipient waits, \`next.at\` when it goes on, where that is known. Of several reasons \`stopped\`, \`paused\`, \`gate\`, \`stage\`, \`schedule\` and \`hold\` come first, in this order; then the one that ends last. \`next\` is null when nothing is next.

\`steps\` tell what happened, oldest first. The ledger knows when the audience was frozen and what was planned; the service that the campaign is sent through reports about the messages: \`rendered\` and \`handed_over\` with the account, the carrier’s id and the milliseconds from acceptance until the hand-over was recorded. A service without the capability \`stories\` reports no more than its answer, and the last step says so.`;

const explainRecipient: Operation = {
  id: 'explainRecipient',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'Explain one recipient',
  description: TOLD,
  parameters: { id: EXAMPLE.campaign, recipientId: `${EXAMPLE.run}.sms.0` },
  answers: {
    200: json(
      'What happened, and what comes next.',
      recipientExplanation,
      answered(200, 'Explanation', WAITING),
    ),
  },
};

const explainPerson: Operation = {
  id: 'explainPerson',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'Explain why a person was, or was not, sent a campaign',
  description: `Of the newest run that has the person, and the channel that was last acted on there, unless \`runId\` and \`channel\` say otherwise; \`others\` names the person’s other recipients in the campaign. A person whom the campaign neither has nor left out is 404.

${TOLD}`,
  parameters: { campaign: EXAMPLE.campaign, contact: EXAMPLE.contact },
  answers: {
    200: json(
      'What happened, and what comes next.',
      personExplanation,
      answered(200, 'Explanation', { ...WAITING, others: [`${EXAMPLE.run}.email.0`] }),
    ),
  },
  errors: ['not_found'],
};

const SKIPPED = {
  contactId: EXAMPLE.contact,
  channel: 'sms' as const,
  address: '+12025550123',
  reason: 'suppressed' as const,
  evidence: EVIDENCE,
};

const BY_REASON =
  'Of the current run or the one of `runId`: contacts that did not become recipients, by channel, reason and id. `evidence` says what was found when the audience was frozen, also if it was changed since.';

const listSkipped: Operation = {
  id: 'listSkippedContacts',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'List the contacts that a campaign left out',
  description: BY_REASON,
  parameters: { id: EXAMPLE.campaign, channel: 'sms', limit: '100' },
  answers: {
    200: json('A page of contacts.', skippedContacts, {
      ...answered(200, 'Contacts that were left out', [SKIPPED]),
      next: null,
    }),
  },
};

const HEADER = 'contactId,channel,address,reason,evidence\r\n';

const exportSkipped: Operation = {
  id: 'exportSkippedContacts',
  access: { role: 'viewer', scopes: ['read'] },
  bound: 'streams',
  tag: 'Campaigns',
  summary: 'Export the contacts that a campaign left out',
  description: `${BY_REASON} Streamed, whatever their number. Values stand as they are: to open the file in a spreadsheet, import it with every column as text.`,
  parameters: { id: EXAMPLE.campaign, channel: 'sms' },
  answers: {
    200: {
      description: 'All that match.',
      content: {
        'text/csv': {
          schema: z.string().regex(/^contactId,channel,address,reason,evidence\r\n/),
          example: `${HEADER}${EXAMPLE.contact},sms,+12025550123,suppressed,"${EVIDENCE}"\r\n`,
        },
      },
      headers: { 'content-disposition': 'A name for the file.' },
    },
  },
};
