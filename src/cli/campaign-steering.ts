import { z } from 'zod';
import type { ApiClient } from './api-client';
import { forecast, forecastLines, warningLines, warnings } from './campaign-from-file';
import { reasonText } from './campaign-reason';
import { type CampaignProgress, progressText, summaryTable } from './campaign-report';
import { print, printable } from './command';
import { followCampaign } from './follow-campaign';
import { createProgressLine } from './progress-line';

/** Commands that change a campaign: what it waits for, how fast it goes, and its approval. */

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

interface WatchOptions {
  json?: boolean;
  signal: AbortSignal;
}

/** Returns the exit code: 0 when the campaign was completed, 1 when it ended otherwise or watching was stopped. */
export async function watchCampaign(
  api: ApiClient,
  id: string,
  { json, signal }: WatchOptions,
): Promise<number> {
  const show = json ? showChanges() : showLine();
  try {
    const last = await followCampaign(api, id, { signal, tell: show.tell });
    show.end(last);
    return last.phase === 'completed' ? 0 : 1;
  } catch (error) {
    show.end(undefined);
    if (signal.aborted) return 1;
    throw error;
  }
}

interface Show {
  tell(progress: CampaignProgress): void;
  end(last: CampaignProgress | undefined): void;
}

function showLine(): Show {
  const line = createProgressLine(process.stdout);
  const startedAt = Date.now();
  const textOf = (progress: CampaignProgress) => progressText(progress, Date.now() - startedAt);
  return {
    tell: (progress) => line.update(textOf(progress)),
    end(last) {
      line.finish(last && textOf(last));
      if (last)
        process.stdout.write(`${last.reason ? `${reasonText(last.reason)}\n` : ''}\n${summaryTable(last)}`);
    },
  };
}

/** JSON Lines: one object for every change. */
function showChanges(): Show {
  let shown = '';
  const tell = (progress: CampaignProgress) => {
    const { id, status, phase, counts, skipped, finishedAt, reason, release } = progress;
    const text = JSON.stringify({ id, status, phase, counts, skipped, finishedAt, reason, release });
    if (text !== shown) process.stdout.write(`${text}\n`);
    shown = text;
  };
  return { tell, end: (last) => last && tell(last) };
}

/** A person looks at a campaign, and approves it (docs/approval.md). */

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
