import { Readable } from 'node:stream';
import { z } from 'zod';
import type { Campaigns } from '../campaigns/campaigns';
import type { RecipientView } from '../campaigns/reports/recipients';
import { outcomes, recipientExportQuery, timeline, timelineQuery } from '../contracts/campaign-recipients';
import { runChoice } from '../contracts/campaign-runs';
import { answer, idParams, timestamp } from '../contracts/common';
import { csvRow } from '../contracts/csv-row';
import { LIMITS } from '../domain/limits';
import { CAMPAIGN_COUNTS } from './campaigns';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { seesAddresses } from './request/viewers';
import { whileAdmitted } from './request/while-admitted';

const config = { auth: 'campaign' } as const;

/** What became of a campaign's recipients: as a file (api.md 7), and counted by code (api.md 16). */
export function campaignReportRoutes(
  app: App,
  { campaigns }: { campaigns: Pick<Campaigns, 'recipientPages' | 'outcomes' | 'timeline'> },
): void {
  const counting = { operation: readOutcomes, params: idParams, querystring: runChoice };
  app.get('/api/campaign/:id/outcomes', { config, schema: counting }, async (request) => {
    const { workspaceId } = callerOf(request);
    const outcomes = await campaigns.outcomes(workspaceId, request.params.id, request.query);
    return answer(200, 'Outcomes', outcomes);
  });

  const over = { operation: readTimeline, params: idParams, querystring: timelineQuery };
  app.get('/api/campaign/:id/timeline', { config, schema: over }, async (request) => {
    const { workspaceId } = callerOf(request);
    const channels = await campaigns.timeline(workspaceId, request.params.id, request.query);
    return answer(200, 'Timeline', { channels });
  });

  const exporting = { operation: exportRecipients, params: idParams, querystring: recipientExportQuery };
  // Without HEAD, because it would read a million rows and return none of them.
  const options = { config, schema: exporting, exposeHeadRoute: false };
  app.get('/api/campaign/:id/recipients.csv', options, async (request, reply) => {
    const { id } = request.params;
    const filter = { ...request.query, hidesAddresses: !seesAddresses(request) };
    const pages = await campaigns.recipientPages(callerOf(request).workspaceId, id, filter);
    return reply
      .type('text/csv; charset=utf-8')
      .header('content-disposition', `attachment; filename="recipients-${fileNameOf(id)}.csv"`)
      .send(Readable.from(toCsv(whileAdmitted(request, pages)), { objectMode: false }));
  });
}

/** The id comes from the path, and a caller's quotes or line breaks must not enter a header. */
export const fileNameOf = (id: string): string => id.replace(/[^A-Za-z0-9_.-]/g, '_');

const COLUMNS = [
  'contactId',
  'channel',
  'address',
  'state',
  'outcome',
  'code',
  'attempts',
  'uid',
  'updatedAt',
] as const;

async function* toCsv(pages: AsyncIterable<RecipientView[]>): AsyncGenerator<string> {
  yield csvRow(COLUMNS);
  for await (const page of pages) yield page.map(toRow).join('');
}

function toRow(one: RecipientView): string {
  return csvRow([
    one.contactId,
    one.channel,
    one.address ?? '',
    one.state,
    one.outcome ?? '',
    one.code ?? '',
    String(one.attempts),
    one.uid,
    timestamp(one.updatedAt),
  ]);
}

const HEADER = 'contactId,channel,address,state,outcome,code,attempts,uid,updatedAt\r\n';

const readOutcomes: Operation = {
  id: 'readCampaignOutcomes',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'Count the recipients of a campaign by state and code',
  description: `Of the current run or the one of \`runId\`, the largest count first, at most ${LIMITS.outcomesListed}. \`code\` is what the carrier or the product answered, and null where nothing more is to be said than the state.`,
  parameters: { id: EXAMPLE.campaign },
  answers: {
    200: json(
      'Every state that has recipients.',
      outcomes,
      answered(200, 'Outcomes', [
        { channel: 'sms' as const, state: 'delivered' as const, code: null, count: 974 },
        { channel: 'sms' as const, state: 'undelivered' as const, code: 'absent_subscriber', count: 26 },
      ]),
    ),
  },
};

const readTimeline: Operation = {
  id: 'readCampaignTimeline',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'See when recipients of a campaign entered each state',
  description: `Of the current run or the one of \`runId\`, from its start to now or to its end, in at most \`points\` steps of \`stepSeconds\`. Each point counts the recipients that entered a state from \`at\` on until the next point; states that none entered are left out. A recipient who is sent to again enters a state again. Receipts that come after the end are shown where they came, for as long again as the run took, and later ones in the last point. Cheap whatever the audience’s size.`,
  parameters: { id: EXAMPLE.campaign, points: '200' },
  answers: {
    200: json(
      'All channels of the campaign.',
      timeline,
      answered(200, 'Timeline', {
        channels: {
          sms: {
            stepSeconds: 5,
            points: [
              {
                at: EXAMPLE.at,
                pending: 1_000,
                accepted: 1_000,
                sent: 1_000,
                delivered: 974,
                undelivered: 26,
              },
            ],
          },
        },
      }),
    ),
  },
};

const exportRecipients: Operation = {
  id: 'exportCampaignRecipients',
  access: { role: 'viewer', scopes: ['read'] },
  bound: 'streams',
  tag: 'Campaigns',
  summary: 'Export the recipients of a campaign',
  description:
    'Of the current run or the one of `runId`, by channel and in the order in which they are due; streamed, whatever their number. Values stand as they are: to open the file in a spreadsheet, import it with every column as text.',
  parameters: { id: EXAMPLE.campaign, channel: 'sms' },
  answers: {
    200: {
      description: 'All that match.',
      content: {
        'text/csv': {
          schema: z
            .string()
            .regex(/^contactId,channel,address,state,outcome,code,attempts,uid,updatedAt\r\n/),
          example: `${HEADER}${EXAMPLE.contact},sms,+12025550123,delivered,,,1,${EXAMPLE.run}.sms.0000000.00000.1,${EXAMPLE.at}\r\n`,
        },
      },
      headers: { 'content-disposition': 'A name for the file.' },
    },
  },
};

const PROGRESS = {
  id: EXAMPLE.campaign,
  status: 'completed',
  phase: 'completed',
  counts: { sms: { ...CAMPAIGN_COUNTS, total: 2, delivered: 2 } },
  skipped: {},
  ratePerSecond: 0,
  eta: null,
  startedAt: EXAMPLE.at,
  finishedAt: EXAMPLE.at,
  reason: null,
};

export const watchCampaign: Operation = {
  id: 'watchCampaign',
  access: { role: 'viewer', scopes: ['read'] },
  bound: 'streams',
  tag: 'Campaigns',
  summary: 'Watch the progress of a campaign',
  description:
    'Server-sent events named `progress`, for `EventSource` and anything like it. The data of each is the whole progress as JSON: what the campaign itself answers under the same names, `release` among them if it goes in stages. One comes at once, then whenever something has changed, and while the run goes on at least every second. The stream ends after `completed`, `canceled` or `failed`, when the credentials are no longer good, and when the server stops. An event that was missed need not be repeated: a caller that comes back with `Last-Event-ID` gets what is new, or, when that was the last event, 204, after which a browser does not come back. Comments keep a quiet connection open.',
  parameters: { id: EXAMPLE.campaign },
  answers: {
    200: {
      description: 'Events, as they happen.',
      content: {
        'text/event-stream': {
          // Readers differ in what a schema is of here: of the text, or of each event.
          schema: z.unknown(),
          example: `retry: 2000\n\nid: a3V0YS1rb3V0YS1rdXRh\nevent: progress\ndata: ${JSON.stringify(PROGRESS)}\n\n`,
        },
      },
    },
    204: { description: 'The event of `Last-Event-ID` was the last one.', content: {} },
  },
  errors: ['too_many_streams', 'dependency_down'],
};
