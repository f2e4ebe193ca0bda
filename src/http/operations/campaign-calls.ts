import { z } from 'zod';
import { callSummary } from '../../contracts/answers/calls';
import { json, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

export const summarizeCalls: Operation = {
  id: 'summarizeCampaignCalls',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Campaigns',
  summary: 'Count how the calls of a campaign ended',
  description:
    'Of the current run or the one of `runId`. Every call that was placed counts, so that a recipient who was called three times counts three times.',
  parameters: { id: EXAMPLE.campaign },
  answers: {
    200: json('The calls of the run.', callSummary, {
      ...answered(200, 'Calls', {
        calls: 5,
        open: 1,
        carrierFaults: 1,
        outcomes: { human: 1, busy: 2, failed: 1 },
      }),
    }),
  },
};

const HEADER =
  'contactId,address,attempt,uid,placedAt,answeredAt,endedAt,outcome,code,answeredBy,durationMs,digits,branch,said,recording\r\n';

export const exportCalls: Operation = {
  id: 'exportCampaignCalls',
  access: { role: 'viewer', scopes: ['read'] },
  bound: 'streams',
  tag: 'Campaigns',
  summary: 'Export the calls of a campaign',
  description:
    'Of the current run or the one of `runId`, by recipient and attempt; streamed, whatever their number. `branch`, `said` and `recording` stand as the provider tells them, as JSON if they are more than a text. Values stand as they are: to open the file in a spreadsheet, import it with every column as text.',
  parameters: { id: EXAMPLE.campaign },
  answers: {
    200: {
      description: 'Every call that was placed.',
      content: {
        'text/csv': {
          schema: z.string().regex(/^contactId,address,attempt,uid,placedAt,/),
          example: `${HEADER}${EXAMPLE.contact},+12025550123,1,${EXAMPLE.run}.voice.0.1,${EXAMPLE.at},,${EXAMPLE.at},busy,user_busy,,,,,,\r\n`,
        },
      },
      headers: { 'content-disposition': 'A name for the file.' },
    },
  },
};
