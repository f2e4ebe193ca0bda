import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { request } from 'undici';
import { recordFile } from '../../src/providers/simulator/simulator-record';
import { campaignDetail, untilPhase } from '../support/api-client';
import { until } from '../support/until';
import { type CampaignBench, createEmailTemplate, sizeOf, untilStill, withCampaigns } from './campaign-rig';
import { residentMb } from './memory';
import { note, numberOption, peakMemoryMb } from './rig';

/**
 * One call that creates a campaign with its recipients and starts it: from the last byte of the request to the first
 * hand-over in the carrier's record, after a warm-up of the same size, on an installation that does nothing else. Then
 * `--appended N` recipients (1,000,000) by newline-delimited JSON into a draft, with the process's memory meanwhile.
 */
const ROUNDS = 3;
const SIZES = [100, 10_000];
const APPENDED_DEFAULT = 1_000_000;
const LIMIT_MS = 10 * 60_000;
/** Lines between two looks at the memory. */
const SAMPLE_EVERY = 50_000;

export async function triggerPart(): Promise<unknown> {
  const appended = numberOption('--appended') ?? APPENDED_DEFAULT;
  return withCampaigns(async (bench) => {
    const templateId = await createEmailTemplate(bench.api);
    const results = [];
    for (const recipients of SIZES) {
      note(`${recipients} recipients in one call`);
      await trigger(bench, templateId, recipients);
      const rounds: Trigger[] = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await trigger(bench, templateId, recipients));
      results.push({
        recipients,
        firstHandOverMs: rounds.map((round) => round.firstHandOverMs),
        answerMs: rounds.map((round) => round.answerMs),
        medianMs: rounds.map((round) => round.firstHandOverMs).sort((a, b) => a - b)[1],
      });
    }
    return { triggers: results, append: appended > 0 ? await append(bench, templateId, appended) : null };
  });
}

interface Trigger {
  firstHandOverMs: number;
  answerMs: number;
}

let firstContact = 0;

async function trigger(bench: CampaignBench, templateId: string, count: number): Promise<Trigger> {
  const { api, baseUrl, place } = bench;
  const first = firstContact;
  firstContact += count;
  const body = campaignOf(templateId, {
    recipients: Array.from({ length: count }, (_, i) => row(first + i)),
  });
  const headers = { authorization: `Bearer ${await api.bearer()}`, 'content-type': 'application/json' };
  const before = sizeOf(place, 'email');
  let sentAt = 0;
  async function* bytes() {
    yield Buffer.from(body);
    // Asked for more when the request's last bytes were handed to the socket.
    sentAt = Date.now();
  }
  const source = Readable.from(bytes(), { objectMode: false, highWaterMark: 1 });
  const answer = await request(`${baseUrl}/api/campaign`, { method: 'POST', headers, body: source });
  const answerMs = Date.now() - sentAt;
  const { data } = (await answer.body.json()) as { data: { id: string } };
  if (answer.statusCode !== 201) throw new Error(`the trigger was answered ${answer.statusCode}`);
  await until('the first hand-over', () => sizeOf(place, 'email') > before, LIMIT_MS, 5);
  await untilPhase(api, data.id, ['completed'], LIMIT_MS);
  await untilStill(place, 'email', Math.floor(firstContact * 0.9));
  const { total = 0 } = (await campaignDetail(api, data.id)).counts.email ?? {};
  if (total !== count) throw new Error(`${total} of ${count} recipients were frozen`);
  return { firstHandOverMs: firstAt(bench, before) - sentAt, answerMs };
}

/** When the first message was taken that stands in the record after so many bytes. */
function firstAt({ place }: CampaignBench, offset: number): number {
  const record = readFileSync(recordFile(join(place.dataDir, 'simulator'), 'email'));
  const lines = record.subarray(offset).toString('utf8').split('\n');
  const times = lines.flatMap((line) => {
    const { id, at } = line === '' ? {} : (JSON.parse(line) as { id?: string; at?: string });
    return id === undefined || at === undefined ? [] : [Date.parse(at)];
  });
  return Math.min(...times);
}

async function append(bench: CampaignBench, templateId: string, count: number) {
  const { api, baseUrl, pid } = bench;
  note(`${count} recipients appended`);
  const draft = campaignOf(templateId, { start: false });
  const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/campaign', draft);
  const residentsMb: number[] = [];
  const startMb = residentMb(pid);
  function* lines() {
    for (let from = 0; from < count; from += SAMPLE_EVERY / 100) {
      if (from % SAMPLE_EVERY === 0) residentsMb.push(residentMb(pid));
      let text = '';
      for (let i = from; i < Math.min(count, from + SAMPLE_EVERY / 100); i++) {
        text += `${JSON.stringify(row(10_000_000 + i))}\n`;
      }
      yield text;
    }
  }
  const begun = performance.now();
  const answer = await request(`${baseUrl}/api/campaign/${data.id}/recipients`, {
    method: 'POST',
    headers: { authorization: `Bearer ${await api.bearer()}`, 'content-type': 'application/x-ndjson' },
    body: Readable.from(lines(), { objectMode: false }),
    headersTimeout: 0,
    bodyTimeout: 0,
  });
  const report = (await answer.body.json()) as { data: { created: number; rejected: number } };
  const seconds = (performance.now() - begun) / 1_000;
  const { inline } = (await api.expect<{ data: { inline: number } }>('GET', `/api/campaign/${data.id}`)).data;
  if (inline !== count) throw new Error(`${inline} of ${count} recipients were added`);
  const { created, rejected } = report.data;
  const memoryMb = { start: startMb, during: residentsMb, peak: peakMemoryMb(pid) };
  return { recipients: count, created, rejected, perSecond: Math.round(count / seconds), memoryMb };
}

const campaignOf = (templateId: string, more: object) =>
  JSON.stringify({
    campaignId: null,
    name: `trigger ${Date.now()}`,
    settings: { email: { fromEmail: 'news@example.com', templateId, version: 1 } },
    channel: ['email'],
    ...more,
  });

const row = (i: number) => ({
  externalId: `t${i}`,
  email: `t${i}@example.com`,
  name: `Person ${i}`,
  phone: `+1202${String(2_000_000 + (i % 7_000_000))}`,
  params: { CODE: `c-${i}` },
});
