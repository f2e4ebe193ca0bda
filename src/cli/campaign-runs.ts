import { z } from 'zod';
import type { ApiClient } from './api-client';
import { reason, reasonText } from './campaign-reason';
import { print } from './command';

const runs = z.object({
  data: z.array(
    z.looseObject({
      id: z.string(),
      number: z.number(),
      phase: z.string(),
      scheduledFor: z.string().nullable(),
      localTime: z.string().nullish(),
      startedAt: z.string().nullable(),
      reason: reason.nullable(),
      counts: z.record(z.string(), z.record(z.string(), z.number())),
    }),
  ),
});
type Run = z.infer<typeof runs>['data'][number];

/** The newest runs of a campaign; for a recurring one, its occurrences. */
export async function listRuns(
  api: ApiClient,
  id: string,
  { limit, json }: { limit: number; json?: boolean },
): Promise<void> {
  const { data } = await api.get(`/api/campaign/${encodeURIComponent(id)}/runs?limit=${limit}`, runs);
  print(json, data, data.length > 0 ? data.map(lineOf) : ['There are no runs yet.']);
}

const minute = (at: string | null) => (at ?? '').slice(0, 16).padEnd(16);

function lineOf({ number, id, phase, scheduledFor, localTime, startedAt, counts, reason }: Run): string {
  const sizes = Object.entries(counts).map(([channel, { total = 0 }]) => `${channel} ${total}`);
  const when = minute(scheduledFor ?? startedAt);
  const local = localTime && `${localTime} in recipients’ local time`;
  const what = [sizes.join(', '), local, reason && reasonText(reason)].filter(Boolean).join('; ');
  return [String(number).padStart(4), id, phase.padEnd(9), when, what].join('  ').trimEnd();
}
