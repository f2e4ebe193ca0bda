import { queryOptions } from '@tanstack/react-query';
import { call } from '../api/client';
import type {
  ReadOverviewData,
  ReadOverviewResponse,
  ReadStopData,
  ReadStopResponse,
} from '../api/types.gen';

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  refetchInterval: 3_000,
  queryFn: async ({ signal }) =>
    (await call<ReadOverviewData, ReadOverviewResponse>('GET', '/api/overview', { signal })).data,
});

export const stopQuery = queryOptions({
  queryKey: ['stop'],
  refetchInterval: 5_000,
  queryFn: async ({ signal }) =>
    (await call<ReadStopData, ReadStopResponse>('GET', '/api/stop', { signal })).data,
});
