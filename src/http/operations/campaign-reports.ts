import { z } from 'zod';
import { outcomes } from '../../contracts/answers/campaigns';
import { LIMITS } from '../../domain/limits';
import { json, type Operation } from '../operation';
import { CAMPAIGN_COUNTS } from './campaigns';
import { answered, EXAMPLE } from './examples';

const HEADER = 'contactId,channel,address,state,outcome,code,attempts,uid,updatedAt\r\n';

export const readOutcomes: Operation = {
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

export const exportRecipients: Operation = {
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
          example: `${HEADER}${EXAMPLE.contact},sms,+12025550123,delivered,,,1,${EXAMPLE.run}.sms.0.1,${EXAMPLE.at}\r\n`,
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
    'Server-sent events named `progress`, for `EventSource` and anything like it. The data of each is the whole progress as JSON: what the campaign itself answers under the same names, `release` among them if it goes in stages. One comes at once, then whenever something has changed, and while the run goes on at least every second. The stream ends after `completed`, `canceled` or `failed`, when the credentials are no longer good, and when the server stops. An event that was missed need not be repeated: whoever comes back with `Last-Event-ID` is told what is new, and answered 204, which tells a browser to stay away, when that was the last there is. Comments keep a quiet connection open.',
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
