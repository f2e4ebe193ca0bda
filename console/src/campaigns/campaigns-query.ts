import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { call } from '../api/client';
import type { ListCampaignsData, ListCampaignsResponse } from '../api/types.gen';
import { CHANNELS, type Channel } from './campaign-words';

export type ListedCampaign = ListCampaignsResponse['data'][number] & { tags?: string[] };

/** As it stands in the page's address. */
export interface CampaignFilter {
  search?: string | undefined;
  channel?: Channel | undefined;
  status?: 'active' | 'paused' | 'completed' | undefined;
  order?: 'oldest' | 'name' | undefined;
  /** Dates as the browser's own field has them: `2026-11-24`. */
  from?: string | undefined;
  to?: string | undefined;
  tag?: string | undefined;
  archived?: boolean | undefined;
  page?: number | undefined;
}

export const PAGE_SIZE = 50;

export const campaignsQuery = (filter: CampaignFilter) =>
  queryOptions({
    queryKey: ['campaigns', filter],
    placeholderData: keepPreviousData,
    refetchInterval: 10_000,
    queryFn: ({ signal }) => listCampaigns(filter, signal),
  });

/** The API lists one channel at a time; without one, the newest of each are put together. */
async function listCampaigns(filter: CampaignFilter, signal: AbortSignal) {
  const channels = filter.channel ? [filter.channel] : CHANNELS;
  const answers = await Promise.all(channels.map((channel) => listChannel({ ...filter, channel }, signal)));
  if (answers.length === 1 && answers[0])
    return { rows: answers[0].data as ListedCampaign[], total: answers[0].pagination.total };
  const rows = new Map(answers.flatMap(({ data }) => data).map((one) => [one.id, one]));
  const total = Math.max(...answers.map(({ pagination }) => pagination.total), rows.size);
  return { rows: [...rows.values()].sort(orderOf(filter)).slice(0, PAGE_SIZE) as ListedCampaign[], total };
}

function listChannel(filter: CampaignFilter & { channel: Channel }, signal: AbortSignal) {
  const { search, status, channel, from, to, order, page = 1, tag, archived } = filter;
  const query: ListCampaignsData['query'] & { tag?: string; archived?: boolean } = {
    ...{ page: filter.channel ? page : 1, limit: PAGE_SIZE, channel },
    ...(search ? { search } : {}),
    ...(status ? { status } : {}),
    ...(from ? { dateFrom: monthFirst(from) } : {}),
    ...(to ? { dateTo: monthFirst(to) } : {}),
    ...(order ? { column: order === 'name' ? 'name' : 'createdAt', direction: 'asc' } : {}),
    ...(tag ? { tag } : {}),
    ...(archived ? { archived } : {}),
  };
  return call<ListCampaignsData, ListCampaignsResponse>('GET', '/api/campaign', { query, signal });
}

/** The specification's dates are `MM/DD/YYYY`. */
const monthFirst = (date: string) => date.replace(/^(\d{4})-(\d\d)-(\d\d)$/, '$2/$3/$1');

function orderOf({ order }: CampaignFilter): (a: ListedCampaign, b: ListedCampaign) => number {
  if (order === 'name') return (a, b) => a.name.localeCompare(b.name);
  const sign = order === 'oldest' ? 1 : -1;
  return (a, b) => sign * (a.createdAt < b.createdAt ? -1 : a.createdAt > b.createdAt ? 1 : 0);
}
