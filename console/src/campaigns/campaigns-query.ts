import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { call } from '../api/client';
import type { ListCampaignsData, ListCampaignsResponse } from '../api/types.gen';
import type { Channel } from './campaign-words';

export type ListedCampaign = ListCampaignsResponse['data'][number];

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

async function listCampaigns(filter: CampaignFilter, signal: AbortSignal) {
  const { search, status, channel = 'all', from, to, order, page = 1, tag, archived } = filter;
  const query: ListCampaignsData['query'] = {
    ...{ page, limit: PAGE_SIZE, channel },
    ...(search ? { search } : {}),
    ...(status ? { status } : {}),
    ...(from ? { createdFrom: startOf(from) } : {}),
    ...(to ? { createdBefore: startOf(to, 1) } : {}),
    ...(order ? { column: order === 'name' ? 'name' : 'createdAt', direction: 'asc' } : {}),
    ...(tag ? { tag } : {}),
    ...(archived ? { archived: 'true' as const } : {}),
  };
  const { data, pagination } = await call<ListCampaignsData, ListCampaignsResponse>('GET', '/api/campaign', {
    query,
    signal,
  });
  return { rows: data, total: pagination.total };
}

/** When a day begins here, or one that comes after it: the API's own days are those of UTC, and the list shows ours. */
function startOf(date: string, later = 0): string {
  // From noon, because clocks that change at midnight skip it, and the day after would then begin at one o'clock too.
  const at = new Date(`${date}T12:00`);
  at.setDate(at.getDate() + later);
  at.setHours(0, 0, 0, 0);
  // What is no day is for the API to refuse.
  return Number.isNaN(at.getTime()) ? date : at.toISOString();
}
