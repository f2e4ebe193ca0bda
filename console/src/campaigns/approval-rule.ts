import { useQuery } from '@tanstack/react-query';
import { call } from '../api/client';
import type { ReadPolicyData, ReadPolicyResponse } from '../api/types.gen';
import { useMay } from '../shell/allowed';
import { type Detail, digestQuery } from './campaign-queries';

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

/**
 * The rule that keeps this draft from being started by one person: its contacts are counted, and are too many. They are
 * counted only where the policy has a rule, because that takes seconds for a million.
 */
export function useRuleAgainst({ id, phase, channel, approval }: Detail): { above: number } | undefined {
  const rule = useApprovalRule(channel);
  const may = useMay();
  const isAsked = phase === 'draft' && rule !== undefined && !approval && may('sender');
  const { data: digest } = useQuery({ ...digestQuery(id), enabled: isAsked });
  return isAsked && digest && digest.contacts > rule.above ? rule : undefined;
}
