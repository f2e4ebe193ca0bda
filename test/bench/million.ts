import { request } from 'undici';
import { campaignDetail, untilPhase } from '../support/api-client';
import {
  type CampaignBench,
  contactRow,
  createEmailCampaign,
  createEmailTemplate,
  importContacts,
  untilStill,
  withCampaigns,
} from './campaign-rig';
import { residentMb } from './memory';
import { median, note, numberOption, peakMemoryMb, rate, round2 } from './rig';

/**
 * One email campaign from a CSV to its report, and the figures of each step. `--contacts N`,
 * `--blocked N` of them on the suppression list. `import` and `pages` are its first and last steps alone.
 */
const CONTACTS_DEFAULT = 50_000;
const BLOCKED_DEFAULT = 10_000;
const LIMIT_MS = 2 * 60 * 60_000;

export async function millionPart(): Promise<unknown> {
  const { contacts, blocked } = sizes();
  return withCampaigns(async (bench) => {
    const imported = await importStep(bench, contacts, contactRow);
    const templateId = await createEmailTemplate(bench.api);
    await block(bench, Math.min(blocked, contacts));
    const sent = await sendStep(bench, imported.listId, templateId);
    const read = await readStep(bench, sent.id);
    const { listId: _listId, ...importing } = imported;
    return { contacts, blocked, import: importing, ...sent, ...read, peakMemoryMb: peakMemoryMb(bench.pid) };
  });
}

export async function importPart(): Promise<unknown> {
  const { contacts } = sizes();
  return withCampaigns(async (bench) => {
    const before = residentMb(bench.pid);
    const { listId: _listId, ...clean } = await importStep(bench, contacts, contactRow);
    note('the same again, which changes nothing');
    const { listId: _again, ...again } = await importStep(bench, contacts, contactRow);
    return { contacts, startMb: before, first: clean, again };
  });
}

export async function pagesPart(): Promise<unknown> {
  const { contacts } = sizes();
  return withCampaigns(async (bench) => {
    const { listId } = await importStep(bench, contacts, contactRow);
    const { id } = await sendStep(bench, listId, await createEmailTemplate(bench.api));
    return { contacts, ...(await readStep(bench, id)) };
  });
}

const sizes = () => ({
  contacts: numberOption('--contacts') ?? CONTACTS_DEFAULT,
  blocked: numberOption('--blocked') ?? BLOCKED_DEFAULT,
});

async function importStep(bench: CampaignBench, contacts: number, row: (i: number) => string) {
  note(`importing ${contacts} contacts`);
  const { listId, ms, imported } = await importContacts(bench, contacts, row);
  if (imported.received !== contacts) throw new Error(`${imported.received} rows were received`);
  if (imported.rejected !== 0) throw new Error(`${imported.rejected} rows were rejected`);
  return { listId, rowsPerSecond: Math.round(rate(contacts, ms)), residentMb: residentMb(bench.pid) };
}

/** By CSV, as a workspace would bring its list along. */
async function block({ api }: CampaignBench, count: number): Promise<void> {
  if (count === 0) return;
  note(`blocking ${count} addresses`);
  const lines = ['address,channel,reason'];
  for (let i = 0; i < count; i++) lines.push(`p${i}@example.com,email,complaint`);
  await api.expect('POST', '/api/suppression', lines.join('\n'), 'text/csv');
}

async function sendStep(bench: CampaignBench, listId: string, templateId: string) {
  const { api, place } = bench;
  note('freezing');
  const createdAt = Date.now();
  const id = await createEmailCampaign(api, listId, templateId);
  await untilPhase(api, id, ['running', 'finishing', 'completed'], LIMIT_MS);
  const frozenAt = Date.now();
  note(`sending, after ${frozenAt - createdAt} ms`);
  const counting = countsWhileSending(api, id);
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  const completedAt = Date.now();
  const { counts } = await campaignDetail(api, id);
  const total = counts.email?.total ?? 0;
  const record = await untilStill(place, 'email', 0);
  const lastAt = Date.parse(record.lastAt ?? '');
  return {
    id,
    recipients: total,
    freezeSeconds: round2((frozenAt - createdAt) / 1_000),
    sendSeconds: round2((lastAt - frozenAt) / 1_000),
    sentPerSecond: Math.round(rate(record.handOvers, lastAt - frozenAt)),
    completedSeconds: round2((completedAt - createdAt) / 1_000),
    handOvers: record.handOvers,
    duplicates: record.duplicates.length + record.duplicateUids.length,
    counts: counts.email,
    countsMsWhileSending: await counting,
  };
}

/** What reading the campaign costs while it is sent: its first tenth, the middle and its last part. */
async function countsWhileSending(api: CampaignBench['api'], id: string): Promise<Record<string, number>> {
  const times: number[] = [];
  for (;;) {
    const begun = performance.now();
    const { phase } = await campaignDetail(api, id);
    times.push(performance.now() - begun);
    if (phase === 'completed') break;
    await new Promise((done) => setTimeout(done, 250));
  }
  const third = Math.ceil(times.length / 3);
  const middle = (from: number) => round2(median(times.slice(from, from + third)));
  return { begin: middle(0), middle: middle(third), end: middle(Math.max(0, times.length - third)) };
}

const PAGE = 1_000;
const SAMPLES = 15;

async function readStep({ api, baseUrl, credentials }: CampaignBench, id: string) {
  note('reading the report');
  const countsMs = await timed(() => campaignDetail(api, id));
  const cursors: string[] = [];
  const pageMs: number[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    cursors.push(cursor);
    const begun = performance.now();
    const page: { next: string | null } = await api.expect('GET', pathOf(id, cursor));
    pageMs.push(performance.now() - begun);
    cursor = page.next;
  }
  const at = (share: number) => {
    const cursor = cursors[Math.floor((cursors.length - 1) * share)] ?? '';
    return timed(() => api.expect('GET', pathOf(id, cursor)));
  };
  const recipientsPageMs = { begin: await at(0), middle: await at(0.5), end: await at(1) };
  const failedPageMs = await timed(() => api.expect('GET', `${pathOf(id, '')}&state=failed`));
  const begun = performance.now();
  const answer = await request(`${baseUrl}/api/campaign/${id}/recipients.csv`, {
    headers: { authorization: `Bearer ${await api.bearer()}`, 'x-api-key': credentials.apiKey },
    bodyTimeout: 0,
  });
  let rows = -1;
  for await (const chunk of answer.body) for (const byte of chunk as Buffer) if (byte === 10) rows++;
  const exportMs = performance.now() - begun;
  return {
    countsMs,
    recipientsPageMs,
    failedPageMs,
    pagesRead: pageMs.length,
    exportedRows: rows,
    exportRowsPerSecond: Math.round(rate(rows, exportMs)),
  };
}

const pathOf = (id: string, cursor: string): string =>
  `/api/campaign/${id}/recipients?limit=${PAGE}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`;

async function timed(call: () => Promise<unknown>): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < SAMPLES; i++) {
    const begun = performance.now();
    await call();
    times.push(performance.now() - begun);
  }
  return round2(median(times));
}
