import { z } from 'zod';
import type { ApiClient } from './api-client';
import { forecast, forecastLines, warningLines, warnings } from './campaign-from-file';
import { print, printable } from './command';

/** Commands by which a person looks at a campaign and approves it (docs/approval.md). */

const pathOf = (id: string) => `/api/campaign/${encodeURIComponent(id)}`;

const digest = z.object({
  data: z.looseObject({
    digest: z.string(),
    contacts: z.number(),
    recipients: z.number(),
    channels: z.record(z.string(), forecast),
    templates: z.array(z.looseObject({ channel: z.string(), name: z.string(), version: z.number() })),
    schedule: z.looseObject({ startAt: z.string().optional(), cron: z.string().optional() }).nullable(),
    estimate: z.looseObject({ durationSeconds: z.number().nullable(), warnings }),
  }),
});

export async function showDigest(api: ApiClient, id: string, { json }: { json?: boolean }): Promise<void> {
  const { data } = await api.get(`${pathOf(id)}/digest`, digest);
  const { schedule, estimate } = data;
  const when = schedule?.cron ?? schedule?.startAt;
  print(json, data, [
    `${data.recipients} recipients of ${data.contacts} contacts`,
    ...Object.entries(data.channels).flatMap(([channel, told]) => forecastLines(channel, told)),
    ...data.templates.map(
      ({ channel, name, version }) => `${channel} template ${printable(name)}, version ${version}`,
    ),
    when === undefined ? 'It starts when it is approved.' : `It starts by its schedule: ${printable(when)}.`,
    ...(estimate.durationSeconds === null ? [] : [`At its pace it takes ${estimate.durationSeconds} s.`]),
    ...warningLines(estimate.warnings),
    `Digest: ${data.digest}`,
  ]);
}

const approved = z.object({ data: z.looseObject({ id: z.string(), phase: z.string() }) });

export async function approveCampaign(
  api: ApiClient,
  id: string,
  options: { digest: string; json?: boolean },
): Promise<void> {
  const { data } = await api.post(`${pathOf(id)}/approve`, { digest: options.digest }, approved);
  print(options.json, data, [`Campaign ${data.id} is approved, and ${data.phase}.`]);
}
