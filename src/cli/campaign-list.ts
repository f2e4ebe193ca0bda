import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import type { ApiClient } from './api-client';
import { print, printable } from './command';

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

export interface ListOptions {
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
