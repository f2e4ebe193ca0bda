import { Readable } from 'node:stream';
import type { Campaigns } from '../../campaigns/campaigns';
import type { RecipientView } from '../../campaigns/runs/recipients';
import { recipientExportQuery, runChoice } from '../../contracts/campaigns';
import { answer, idParams, timestamp } from '../../contracts/common';
import { csvRow } from '../../contracts/csv-row';
import { callerOf } from '../caller';
import { exportRecipients, readOutcomes } from '../operations/campaign-reports';
import type { App } from '../routing';
import { seesAddresses } from '../viewers';

const config = { auth: 'campaign' } as const;

/** What became of a campaign's recipients: as a file (api.md 7), and counted by code (api.md 16). */
export function campaignReportRoutes(
  app: App,
  { campaigns }: { campaigns: Pick<Campaigns, 'recipientPages' | 'outcomes'> },
): void {
  const counting = { operation: readOutcomes, params: idParams, querystring: runChoice };
  app.get('/api/campaign/:id/outcomes', { config, schema: counting }, async (request) => {
    const { workspaceId } = callerOf(request);
    const outcomes = await campaigns.outcomes(workspaceId, request.params.id, request.query);
    return answer(200, 'Outcomes', outcomes);
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
      .send(Readable.from(toCsv(pages), { objectMode: false }));
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
    one.address,
    one.state,
    one.outcome ?? '',
    one.code ?? '',
    String(one.attempts),
    one.uid,
    timestamp(one.updatedAt),
  ]);
}
