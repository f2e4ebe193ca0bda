import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { call } from '../api/client';
import type {
  CampaignDetail,
  ExplainPersonData,
  ExplainPersonResponse,
  ExplainRecipientData,
  ExplainRecipientResponse,
  Explanation,
  ListCampaignRecipientsData,
  ListCampaignRecipientsResponse,
  ReadCampaignData,
  ReadCampaignDigestData,
  ReadCampaignDigestResponse,
  ReadCampaignOutcomesData,
  ReadCampaignOutcomesResponse,
  ReadCampaignResponse,
  ReadCampaignTimelineData,
  ReadCampaignTimelineResponse,
} from '../api/types.gen';

export type Detail = CampaignDetail;
export type Outcome = ReadCampaignOutcomesResponse['data'][number];
/** `others`: the person's recipients of other channels or runs. */
export type Story = Explanation & { others?: string[] };
export type RecipientFilter = Omit<NonNullable<ListCampaignRecipientsData['query']>, 'cursor' | 'limit'>;

/** Rows of one request: a screen shows about twenty. */
const PAGE = 200;

export const campaignQuery = (id: string) =>
  queryOptions({
    queryKey: ['campaign', id],
    // The stream of events keeps it current; this is for what the stream does not tell.
    refetchInterval: 30_000,
    queryFn: async ({ signal }): Promise<Detail> =>
      (
        await call<ReadCampaignData, ReadCampaignResponse>('GET', '/api/campaign/{id}', {
          path: { id },
          signal,
        })
      ).data,
  });

export const outcomesQuery = (id: string) =>
  queryOptions({
    queryKey: ['campaign', id, 'outcomes'],
    refetchInterval: 10_000,
    queryFn: async ({ signal }) =>
      (
        await call<ReadCampaignOutcomesData, ReadCampaignOutcomesResponse>(
          'GET',
          '/api/campaign/{id}/outcomes',
          { path: { id }, signal },
        )
      ).data,
  });

export const digestQuery = (id: string) =>
  queryOptions({
    queryKey: ['campaign', id, 'digest'],
    queryFn: async ({ signal }) =>
      (
        await call<ReadCampaignDigestData, ReadCampaignDigestResponse>('GET', '/api/campaign/{id}/digest', {
          path: { id },
          signal,
        })
      ).data,
  });

export const timelineQuery = (id: string) =>
  queryOptions({
    queryKey: ['campaign', id, 'timeline'],
    refetchInterval: 10_000,
    queryFn: async ({ signal }) =>
      (
        await call<ReadCampaignTimelineData, ReadCampaignTimelineResponse>(
          'GET',
          '/api/campaign/{id}/timeline',
          {
            path: { id },
            query: { points: 200 },
            signal,
          },
        )
      ).data,
  });

export const recipientsQuery = (id: string, filter: RecipientFilter) =>
  infiniteQueryOptions({
    queryKey: ['campaign', id, 'recipients', filter],
    // What has been scrolled past is not read again by itself; the page has a button for that.
    staleTime: Number.POSITIVE_INFINITY,
    initialPageParam: '',
    getNextPageParam: ({ next }: ListCampaignRecipientsResponse) => next ?? undefined,
    queryFn: ({ pageParam, signal }) =>
      call<ListCampaignRecipientsData, ListCampaignRecipientsResponse>(
        'GET',
        '/api/campaign/{id}/recipients',
        { path: { id }, query: { ...filter, cursor: pageParam, limit: PAGE }, signal },
      ),
  });

export const storyQuery = (id: string, recipientId: string) =>
  queryOptions({
    queryKey: ['campaign', id, 'story', recipientId],
    refetchInterval: 10_000,
    queryFn: async ({ signal }): Promise<Story> =>
      (
        await call<ExplainRecipientData, ExplainRecipientResponse>(
          'GET',
          '/api/campaign/{id}/recipients/{recipientId}',
          { path: { id, recipientId }, signal },
        )
      ).data,
  });

/** A person who may not be among the recipients at all, by an address. */
export const absentQuery = (campaign: string, to: string) =>
  queryOptions({
    queryKey: ['campaign', campaign, 'absent', to],
    retry: false,
    queryFn: async ({ signal }): Promise<Story> =>
      (
        await call<ExplainPersonData, ExplainPersonResponse>('GET', '/api/explain', {
          query: { campaign, to },
          signal,
        })
      ).data,
  });
