import { Readable } from 'node:stream';
import { z } from 'zod';
import type { CallLine, CallRecords } from '../campaigns/calls/call-records';
import { callSummary } from '../contracts/campaign-calls';
import { runChoice } from '../contracts/campaign-runs';
import { answer, idParams, timestamp } from '../contracts/common';
import { csvRow } from '../contracts/csv-row';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { whileAdmitted } from './request/while-admitted';

const config = { auth: 'campaign' } as const;

/** A campaign's calls: how many ended how, and each of them in a file. */
export function campaignCallRoutes(app: App, { calls }: { calls: CallRecords }): void {
  const summary = { operation: summarizeCalls, params: idParams, querystring: runChoice };
  app.get('/api/campaign/:id/calls', { config, schema: summary }, async (request) => {
    const { workspaceId } = callerOf(request);
    return answer(200, 'Calls', await calls.summary(workspaceId, request.params.id, request.query.runId));
  });

  const exporting = { operation: exportCalls, params: idParams, querystring: runChoice };
  // Without HEAD, because it would read a million rows and return none of them.
  const options = { config, schema: exporting, exposeHeadRoute: false };
  app.get('/api/campaign/:id/calls.csv', options, async (request, reply) => {
    const { id } = request.params;
    const pages = await calls.pages(callerOf(request).workspaceId, id, request.query.runId);
    return reply
      .type('text/csv; charset=utf-8')
      .header(
        'content-disposition',
        `attachment; filename="calls-${id.replace(/[^A-Za-z0-9_.-]/g, '_')}.csv"`,
      )
      .send(Readable.from(toCsv(whileAdmitted(request, pages)), { objectMode: false }));
  });
}

async function* toCsv(pages: AsyncIterable<CallLine[]>): AsyncGenerator<string> {
  yield csvRow(COLUMNS);
  for await (const page of pages) yield page.map(toRow).join('');
}

const COLUMNS = [
  ...['contactId', 'address', 'attempt', 'uid', 'placedAt', 'answeredAt', 'endedAt', 'outcome', 'code'],
  ...['answeredBy', 'durationMs', 'digits', 'branch', 'said', 'recording', 'documents'],
];

function toRow(one: CallLine): string {
  const at = (time: Date | null) => (time ? timestamp(time) : '');
  return csvRow([
    one.contactId,
    one.address,
    String(one.attempt),
    one.uid,
    at(one.placedAt),
    at(one.answeredAt),
    at(one.endedAt),
    one.outcome ?? '',
    one.code ?? '',
    one.answeredBy ?? '',
    one.durationMs === null ? '' : String(one.durationMs),
    one.digits ?? '',
    ...[one.branch, one.said, one.recording, one.documents].map(cellOf),
  ]);
}

/** A carrier's text stays text; a list or an object is JSON. */
function cellOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const summarizeCalls: Operation = {
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

const exportCalls: Operation = {
  id: 'exportCampaignCalls',
  access: { role: 'viewer', scopes: ['read'] },
  bound: 'streams',
  tag: 'Campaigns',
  summary: 'Export the calls of a campaign',
  description:
    'Of the current run or the one of `runId`, by recipient and attempt; streamed, whatever their number. `branch`, `said` and `recording` stand as the provider reports them, as JSON if they are more than a text. Values stand as they are: to open the file in a spreadsheet, import it with every column as text.',
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
