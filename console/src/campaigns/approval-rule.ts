import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client';
import type { ReadPolicyData, ReadPolicyResponse } from '../api/types.gen';

/** From how many contacts on a campaign of these channels needs a second person, as the workspace's policy says. */
export function useApprovalRule(channels: readonly string[]): { above: number } | undefined {
  const { data } = useQuery({
    queryKey: ['policy'],
    queryFn: async ({ signal }) =>
      (await call<ReadPolicyData, ReadPolicyResponse>('GET', '/api/policy', { signal })).data,
  });
  const rule = (data as { approval?: { above: number; channels?: string[] } | null } | undefined)?.approval;
  const isMeant = rule && (!rule.channels || channels.some((one) => rule.channels?.includes(one)));
  return isMeant ? { above: rule.above } : undefined;
}
