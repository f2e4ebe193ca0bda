import { resolve } from 'node:path';
import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import type { ApiClient } from './api-client';
import { reason, reasonText } from './campaign-reason';
import {
  type CampaignProgress,
  callSummary,
  callTable,
  campaignDetail,
  summaryTable,
} from './campaign-report';
import { print, printable } from './command';
import { UsageError } from './failure';

/** Commands that ask once. */

const pathOf = (id: string) => `/api/campaign/${encodeURIComponent(id)}`;

export async function showCampaign(api: ApiClient, id: string, { json }: { json?: boolean }): Promise<void> {
  const { data } = await api.get(pathOf(id), campaignDetail);
  print(json, data, linesOf(data));
}

const summary = z.object({ data: z.looseObject({ id: z.string(), phase: z.string() }) });

export async function actOnCampaign(
  api: ApiClient,
  id: string,
  action: string,
  { json }: { json?: boolean },
): Promise<void> {
  const { data } = await api.post(`${pathOf(id)}/${action}`, {}, summary);
  print(json, data, [`Campaign ${data.id} is ${data.phase}.`]);
}

export interface ReportOptions {
  csv?: string;
  channel?: string;
  state?: string;
  json?: boolean;
}

/**
 * Prints the counts and, with `csv`, writes the recipients to a file. An existing file is replaced only when
 * the new one is complete.
 */
export async function reportCampaign(api: ApiClient, id: string, options: ReportOptions): Promise<void> {
  const { csv, channel, state, json } = options;
  if (csv === undefined && (channel ?? state) !== undefined) {
    throw new UsageError(
      '--channel and --state choose the recipients of a file, and --csv <file> names none',
      'Add --csv <file>, or leave them out: the counts are of all channels and states.',
    );
  }
  const { data } = await api.get(pathOf(id), campaignDetail);
  const query = new URLSearchParams({ ...(channel ? { channel } : {}), ...(state ? { state } : {}) });
  if (csv !== undefined) await api.getFile(`${pathOf(id)}/recipients.csv?${query}`, resolve(csv));
  const { phase, counts, skipped } = data;
  const calls = counts.voice ? (await api.get(`${pathOf(id)}/calls`, callSummary)).data : undefined;
  const told = {
    id,
    phase,
    counts,
    skipped,
    ...(calls ? { calls } : {}),
    ...(csv === undefined ? {} : { csv }),
  };
  print(json, told, [
    ...linesOf(data),
    ...(calls ? ['', callTable(calls).trimEnd()] : []),
    ...(csv === undefined ? [] : [`The recipients are in ${csv}.`]),
  ]);
}

function linesOf(data: CampaignProgress): string[] {
  const { id, name, phase, reason } = data;
  const title = `${printable(String(name))} (${String(id)}) is ${phase}${reason ? `: ${reasonText(reason)}` : ''}`;
  return [title, '', summaryTable(data).trimEnd()];
}

const campaigns = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      name: z.string(),
      channel: z.array(z.string()),
      phase: z.string(),
      createdAt: z.string(),
    }),
  ),
});
type Listed = z.infer<typeof campaigns>['data'][number];

interface ListOptions {
  channel?: string;
  status?: string;
  search?: string;
  limit: number;
  json?: boolean;
}

/** The API lists by channel; without a channel, this lists the newest of all three. */
export async function listCampaigns(api: ApiClient, options: ListOptions): Promise<void> {
  const found = new Map<string, Listed>();
  for (const channel of options.channel ? [options.channel] : CHANNELS) {
    const query = new URLSearchParams({ page: '1', limit: String(options.limit), channel });
    if (options.status) query.set('status', options.status);
    if (options.search) query.set('search', options.search);
    for (const one of (await api.get(`/api/campaign?${query}`, campaigns)).data) found.set(one.id, one);
  }
  const listed = [...found.values()]
    .sort((a, b) => (a.createdAt === b.createdAt ? compare(b.id, a.id) : compare(b.createdAt, a.createdAt)))
    .slice(0, options.limit);
  print(options.json, listed, listed.length > 0 ? listed.map(lineOf) : ['There are no such campaigns.']);
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const lineOf = ({ id, phase, createdAt, channel, name }: Listed): string =>
  [id, phase.padEnd(9), createdAt.slice(0, 16), channel.join(',').padEnd(15), printable(name)].join('  ');

const runs = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      number: z.number(),
      phase: z.string(),
      scheduledFor: z.string().nullable(),
      localTime: z.string().nullish(),
      startedAt: z.string().nullable(),
      reason: reason.nullable(),
      counts: z.record(z.string(), z.record(z.string(), z.number())),
    }),
  ),
});
type Run = z.infer<typeof runs>['data'][number];

/** The newest runs of a campaign; for a recurring one, its occurrences. */
export async function listRuns(
  api: ApiClient,
  id: string,
  { limit, json }: { limit: number; json?: boolean },
): Promise<void> {
  const { data } = await api.get(`/api/campaign/${encodeURIComponent(id)}/runs?limit=${limit}`, runs);
  print(json, data, data.length > 0 ? data.map(runLine) : ['There are no runs yet.']);
}

const minute = (at: string | null) => (at ?? '').slice(0, 16).padEnd(16);

function runLine({ number, id, phase, scheduledFor, localTime, startedAt, counts, reason }: Run): string {
  const sizes = Object.entries(counts).map(([channel, { total = 0 }]) => `${channel} ${total}`);
  const when = minute(scheduledFor ?? startedAt);
  const local = localTime && `${localTime} in recipients’ local time`;
  const what = [sizes.join(', '), local, reason && reasonText(reason)].filter(Boolean).join('; ');
  return [String(number).padStart(4), id, phase.padEnd(9), when, what].join('  ').trimEnd();
}
