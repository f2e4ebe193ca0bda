import { setTimeout as delay } from 'node:timers/promises';
import type { ApiClient } from './api-client';
import { type CampaignProgress, campaignDetail } from './campaign-report';

/** Often enough for a lively progress line; the endpoint costs the same for any size of audience. */
const FOLLOW_MS = 500;

/**
 * Reads a campaign until it has ended, and returns how. It polls instead of listening to events, because
 * polling also survives a restart of the instance.
 */
export async function followCampaign(
  api: ApiClient,
  campaignId: string,
  { tell, signal }: { tell(progress: CampaignProgress): void; signal?: AbortSignal | undefined },
): Promise<CampaignProgress> {
  for (;;) {
    const { data } = await api.get(`/api/campaign/${encodeURIComponent(campaignId)}`, campaignDetail);
    if (endOf(data.phase) && !isCanceling(data)) return data;
    tell(data);
    await delay(FOLLOW_MS, undefined, { signal });
  }
}

/** A campaign is canceled at once, and its counts change until its run is closed. */
function isCanceling({ phase, runId, finishedAt }: CampaignProgress): boolean {
  return phase === 'canceled' && Boolean(runId) && !finishedAt;
}

export function endOf(phase: string): 'completed' | 'canceled' | 'failed' | undefined {
  return phase === 'completed' || phase === 'canceled' || phase === 'failed' ? phase : undefined;
}
