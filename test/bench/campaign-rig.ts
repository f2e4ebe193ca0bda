import { statSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Connection, Client as TemporalClient } from '@temporalio/client';
import { request } from 'undici';
import type { Channel } from '../../src/domain/channel';
import { type RecordSummary, readRecord, recordFile } from '../../src/providers/simulator/simulator-record';
import { ApiClient } from '../support/api-client';
import { type Credentials, type Place, readCredentials, untilReady } from '../support/fanfare-process';
import { benchPlace, note, startProduct } from './rig';

/** What the parts of the campaign benchmark share: one `fanfare up`, an audience for it, and the record. */
export interface CampaignBench {
  place: Place;
  pid: number;
  baseUrl: string;
  api: ApiClient;
  credentials: Credentials;
}

export async function withPlace<T>(measure: (place: Place) => Promise<T>): Promise<T> {
  const place = await benchPlace();
  try {
    return await measure(place);
  } finally {
    await place.remove();
  }
}

export async function withFanfare<T>(
  place: Place,
  measure: (bench: CampaignBench) => Promise<T>,
): Promise<T> {
  const fanfare = startProduct(place);
  try {
    await untilReady(fanfare);
    const credentials = readCredentials(place);
    const api = new ApiClient(fanfare.baseUrl, credentials);
    try {
      return await measure({ place, pid: fanfare.pid, baseUrl: fanfare.baseUrl, api, credentials });
    } catch (error) {
      note(fanfare.output());
      throw error;
    } finally {
      await api.close();
    }
  } finally {
    await fanfare.stop();
  }
}

export const withCampaigns = <T>(measure: (bench: CampaignBench) => Promise<T>): Promise<T> =>
  withPlace((place) => withFanfare(place, measure));

/** What workflows cost the Temporal server: events and bytes of their histories, and changes of state that it stored. */
export interface HistoryCost {
  workflows: number;
  events: number;
  bytes: number;
  transitions: number;
}

export async function historyCost(
  { temporal }: Credentials,
  isCounted: (workflowId: string) => boolean,
): Promise<HistoryCost> {
  const connection = await Connection.connect({ address: temporal.address });
  const client = new TemporalClient({ connection, namespace: temporal.namespace });
  const cost: HistoryCost = { workflows: 0, events: 0, bytes: 0, transitions: 0 };
  for await (const { workflowId, runId } of client.workflow.list()) {
    if (!isCounted(workflowId)) continue;
    const { historyLength, historySize, raw } = await client.workflow.getHandle(workflowId, runId).describe();
    cost.workflows += 1;
    cost.events += historyLength;
    cost.bytes += historySize ?? 0;
    cost.transitions += Number(raw.workflowExecutionInfo?.stateTransitionCount ?? 0);
  }
  await connection.close();
  return cost;
}

export interface Imported {
  received: number;
  created: number;
  rejected: number;
  errors: { line: number; code: string }[];
}

/** Creates a list and streams so many contacts into it as a CSV that is never there as a whole. */
export async function importContacts(
  { api, baseUrl, credentials }: CampaignBench,
  count: number,
  rows: (i: number) => string = contactRow,
): Promise<{ listId: string; ms: number; imported: Imported }> {
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
    name: `list ${Date.now()}`,
  });
  const begun = performance.now();
  const answer = await request(`${baseUrl}/api/contact-list/${data.id}/contacts`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await api.bearer()}`,
      'x-api-key': credentials.apiKey,
      'content-type': 'text/csv',
    },
    body: Readable.from(csvOf(count, rows), { objectMode: false }),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const body = (await answer.body.json()) as { data: Imported };
  if (answer.statusCode !== 200) throw new Error(`the import was answered ${answer.statusCode}`);
  return { listId: data.id, ms: performance.now() - begun, imported: body.data };
}

const LINES_AT_ONCE = 500;

function* csvOf(count: number, rows: (i: number) => string): Generator<string> {
  yield 'externalId,name,email,phone\n';
  for (let from = 0; from < count; from += LINES_AT_ONCE) {
    let text = '';
    for (let i = from; i < Math.min(count, from + LINES_AT_ONCE); i++) text += `${rows(i)}\n`;
    yield text;
  }
}

/** Numbers of North America that could be dialled: area codes and exchanges that begin with 2 or more. */
export const contactRow = (i: number): string =>
  `p${i},Person ${i},p${i}@example.com,+1${202 + Math.floor(i / 7_000_000)}${2_000_000 + (i % 7_000_000)}`;

export async function createEmailTemplate(api: ApiClient): Promise<string> {
  const { template } = await api.expect<{ template: { id: string } }>('POST', '/api/template/', {
    templateName: `email ${Date.now()}`,
    subject: 'News for {{NAME}}',
    body: '<p>Dear {{NAME}}, there is news.</p>',
    channel: 'email',
  });
  return template.id;
}

export async function createEmailCampaign(
  api: ApiClient,
  listId: string,
  templateId: string,
): Promise<string> {
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
    campaignId: null,
    name: `campaign ${Date.now()}`,
    settings: { email: { fromEmail: 'news@example.com', templateId, version: 1 } },
    channel: ['email'],
    contactListId: [listId],
  });
  return data.id;
}

export const recordOf = (place: Place, channel: Channel): RecordSummary =>
  readRecord(join(place.dataDir, 'simulator'), channel);

const LOOK_MS = 100;
const STILL_LOOKS = 10;

/** When the record has had at least so many hand-overs and stands still, what it holds. */
export async function untilStill(place: Place, channel: Channel, atLeast: number): Promise<RecordSummary> {
  for (let last = -1, still = 0; ; ) {
    // Its size tells as much as its lines, and costs nothing to read.
    const size = sizeOf(place, channel);
    still = size === last ? still + 1 : 0;
    if (still >= STILL_LOOKS) {
      const record = recordOf(place, channel);
      if (record.handOvers >= atLeast) return record;
      still = 0;
    }
    last = size;
    await new Promise((done) => setTimeout(done, LOOK_MS));
  }
}

/** Of the record of a channel, in bytes. */
export function sizeOf(place: Place, channel: Channel): number {
  try {
    return statSync(recordFile(join(place.dataDir, 'simulator'), channel)).size;
  } catch {
    return 0;
  }
}
