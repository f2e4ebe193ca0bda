import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { StartupError } from '../startup-error';
import type { ApiClient } from './api-client';
import { print, printable } from './command';
import { readJsonObject } from './json-input';
import { findTemplate } from './template-lookup';

/** Commands that take a campaign in the form of `POST /api/campaign`, from a file or the standard input. */

export const warnings = z.array(z.looseObject({ message: z.string() })).default([]);
const created = z.object({
  data: z.looseObject({ id: z.string(), name: z.string(), phase: z.string(), warnings }),
});

export async function createCampaign(
  api: ApiClient,
  file: string,
  { json }: { json?: boolean },
): Promise<void> {
  const { data } = await api.post('/api/campaign', await readCampaign(api, file), created);
  print(json, data, [
    `Campaign ${data.id} (${printable(data.name)}) is ${data.phase}.`,
    ...warningLines(data.warnings),
  ]);
}

export const forecast = z.looseObject({
  contacts: z.number(),
  recipients: z.number(),
  skipped: z.record(z.string(), z.number()).default({}),
  segments: z.number().optional(),
  longest: z.number().optional(),
  offenders: z.array(z.looseObject({ contactId: z.string(), missing: z.array(z.string()) })).default([]),
  earliest: z.string().nullish(),
  latest: z.string().nullish(),
});
const dryRun = z.object({
  data: z.looseObject({
    channels: z.record(z.string(), forecast),
    durationSeconds: z.number().nullable(),
    warnings,
  }),
});

/** Sends and creates nothing. */
export async function dryRunCampaign(
  api: ApiClient,
  file: string,
  { json }: { json?: boolean },
): Promise<void> {
  const { data } = await api.post('/api/campaign/dry-run', await readCampaign(api, file), dryRun);
  const { durationSeconds } = data;
  print(json, data, [
    ...Object.entries(data.channels).flatMap(([channel, told]) => forecastLines(channel, told)),
    durationSeconds === null
      ? 'No pace limits how fast it goes.'
      : `At its pace it takes ${durationSeconds} s.`,
    ...warningLines(data.warnings),
  ]);
}

const OFFENDERS_SHOWN = 5;

export function forecastLines(channel: string, told: z.infer<typeof forecast>): string[] {
  const { contacts, recipients, skipped, segments, longest, offenders, earliest, latest } = told;
  const reasons = Object.entries(skipped).filter(([, count]) => count > 0);
  return [
    `${channel}: ${recipients} recipients of ${contacts} contacts`,
    ...reasons.map(([reason, count]) => `  ${count} skipped: ${reason.replaceAll('_', ' ')}`),
    ...(segments === undefined
      ? []
      : [`  ${segments} segments in all, ${longest ?? 0} in the longest message`]),
    ...(earliest && latest ? [`  due from ${earliest} to ${latest}`] : []),
    ...offenders
      .slice(0, OFFENDERS_SHOWN)
      .map(({ contactId, missing }) => `  contact ${contactId} has no ${missing.join(', ')}`),
    ...(offenders.length > OFFENDERS_SHOWN ? ['  and more contacts; --json lists a hundred'] : []),
  ];
}

export const warningLines = (list: z.infer<typeof warnings>): string[] =>
  list.map(({ message }) => `Warning: ${printable(message)}`);

/**
 * A channel's settings may have `templateName` instead of `templateId`, because ids differ between
 * installations and a file should work in each. Without a `version`, the newest one is used.
 */
async function readCampaign(api: ApiClient, file: string): Promise<Record<string, unknown>> {
  const campaign = { campaignId: null, ...(await readJsonObject(file)) } as Record<string, unknown>;
  if (!isObject(campaign.settings)) return campaign;
  const settings = { ...campaign.settings };
  for (const channel of CHANNELS) {
    const given = settings[channel];
    if (!isObject(given) || typeof given.templateName !== 'string') continue;
    const { templateName, ...rest } = given;
    const template = await findTemplate(api, channel, templateName);
    if (!template) {
      throw new StartupError(
        `There is no ${channel} template called ${printable(templateName)}`,
        'Push it with `fanfare template push`, or correct the name.',
      );
    }
    settings[channel] = { version: template.version, ...rest, templateId: template.id };
  }
  return { ...campaign, settings };
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
