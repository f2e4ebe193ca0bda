import { queryOptions } from '@tanstack/react-query';
import { call } from '../api/client';
import type { ReadStopData, ReadStopResponse } from '../api/types.gen';
import type { Channel, Counts, Phase } from '../campaigns/campaign-words';

/** What runs and what waits, in one answer (docs/api.md 16). */
export interface Overview {
  campaigns: {
    id: string;
    name: string;
    phase: Phase;
    counts: Partial<Record<Channel, Counts>>;
    ratePerSecond: number;
    eta: string | null;
  }[];
  outbox: { channel: Channel; due: number; oldestSeconds: number | null; held: number }[];
  accounts: {
    id: string;
    name: string;
    kind: string;
    state: 'ok' | 'paused' | 'throttled';
    reason?: string | null;
    since: string | null;
  }[];
  lastHour: Partial<Record<Channel, { sent: number; delivered: number; failed: number }>>;
}

export const overviewQuery = queryOptions({
  queryKey: ['overview'],
  refetchInterval: 3_000,
  queryFn: async ({ signal }): Promise<Overview> => {
    const answer = await call<{ url: '/api/overview' }, Overview & { data?: Overview }>(
      'GET',
      '/api/overview',
      {
        signal,
      },
    );
    return answer.data ?? answer;
  },
});

export const stopQuery = queryOptions({
  queryKey: ['stop'],
  refetchInterval: 5_000,
  queryFn: async ({ signal }) =>
    (await call<ReadStopData, ReadStopResponse>('GET', '/api/stop', { signal })).data,
});
