import { z } from 'zod';
import type { ApiClient } from './api-client';
import { print } from './command';

/** Commands that change a running campaign. */

const pathOf = (id: string) => `/api/campaign/${encodeURIComponent(id)}`;

const retried = z.object({
  data: z.looseObject({ id: z.string(), phase: z.string(), retried: z.record(z.string(), z.number()) }),
});

export async function retryFailed(
  api: ApiClient,
  id: string,
  { state, code, json }: { state?: string[]; code?: string[]; json?: boolean },
): Promise<void> {
  const which = { ...(state && { states: state }), ...(code && { codes: code }) };
  const { data } = await api.post(`${pathOf(id)}/retry-failed`, which, retried);
  const each = Object.entries(data.retried).map(([channel, count]) => `${channel} ${count}`);
  print(json, data, [
    `Campaign ${data.id} is ${data.phase}. Sent to again: ${each.join(', ') || 'no recipient'}.`,
  ]);
}

const released = z.object({
  data: z.looseObject({
    id: z.string(),
    phase: z.string(),
    release: z.looseObject({ stage: z.number(), of: z.number() }),
  }),
});

export async function releaseCampaign(
  api: ApiClient,
  id: string,
  { stages, json }: { stages: number | 'all'; json?: boolean },
): Promise<void> {
  const { data } = await api.post(`${pathOf(id)}/release`, { stages }, released);
  const { stage, of } = data.release;
  print(json, data, [`Campaign ${data.id} is ${data.phase}, in stage ${stage} of ${of}. The wait is over.`]);
}

const changed = z.object({ data: z.looseObject({ id: z.string(), phase: z.string() }) });

/** `null` removes the limit. */
export async function changePace(
  api: ApiClient,
  id: string,
  ratePerSecond: number | null,
  { json }: { json?: boolean },
): Promise<void> {
  const { data } = await api.patch(pathOf(id), { delivery: { ratePerSecond } }, changed);
  const pace = ratePerSecond === null ? 'no limit' : `${ratePerSecond} a second`;
  print(json, data, [`Campaign ${data.id} is ${data.phase}, at ${pace}.`]);
}
