import { extname } from 'node:path';
import { z } from 'zod';
import { FanfareError } from '../client/fanfare-error';
import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { StartupError } from '../startup-error';
import type { ApiClient } from './api-client';
import { print, printable } from './command';
import { UsageError } from './failure';
import { needReadable } from './input-file';
import { readText } from './json-input';
import { findTemplate } from './template-lookup';

export interface SendOptions {
  channel: Channel;
  template: string;
  from: string;
  /** Addresses, or one file. */
  to: string[];
  name?: string;
  param?: string[];
  country?: string;
  skipInvalid?: boolean;
  json?: boolean;
}

const SENDER: Record<Channel, string> = { email: 'fromEmail', sms: 'shortCode', voice: 'callerId' };
/** Types of files that are streamed at any length, by their extension. */
const STREAMED: Record<string, string> = {
  '.csv': 'text/csv',
  '.ndjson': 'application/x-ndjson',
  '.jsonl': 'application/x-ndjson',
};
const FILES = [...Object.keys(STREAMED), '.json'];

const rejectedRow = z.looseObject({ index: z.number(), field: z.string(), message: z.string() });
const saved = z.object({
  data: z.looseObject({
    id: z.string(),
    phase: z.string(),
    warnings: z.array(z.looseObject({ message: z.string() })).default([]),
    rejected: z.array(rejectedRow).default([]),
  }),
});
type Saved = z.infer<typeof saved>['data'];

/**
 * Sends a template to a few addresses, or to those of a file. Addresses and JSON files take one call of the
 * API. Other files can be of any length, so that a draft is created, filled and started.
 */
export async function sendCampaign(api: ApiClient, options: SendOptions): Promise<void> {
  const query = options.country === undefined ? '' : `?country=${encodeURIComponent(options.country)}`;
  const campaign = await campaignOf(api, options);
  const [only = ''] = options.to;
  const type = options.to.length === 1 ? STREAMED[extname(only).toLowerCase()] : undefined;
  if (type !== undefined) return sendFile(api, options, campaign, { file: only, type, query });
  const recipients = await recipientsOf(options);
  const body = { ...campaign, recipients, ...(options.skipInvalid ? { skipInvalid: true } : {}) };
  const { data } = await api.post(`/api/campaign${query}`, body, saved);
  print(options.json, data, [
    ...startedLines(data),
    ...data.rejected.map(({ index, field, message }) => `  left out: row ${index + 1}: ${field} ${message}`),
  ]);
}

async function campaignOf(api: ApiClient, { channel, template, from, name, param }: SendOptions) {
  const params = param && paramsOf(param);
  const found = await findTemplate(api, channel, template);
  if (!found) {
    throw new StartupError(
      `There is no ${channel} template called ${printable(template)}`,
      'Push it with `fanfare template push`, or correct the name.',
    );
  }
  const { id: templateId, version } = found;
  return {
    campaignId: null,
    name: name ?? template,
    channel: [channel],
    settings: { [channel]: { [SENDER[channel]]: from, templateId, version } },
    ...(params ? { params } : {}),
  };
}

function paramsOf(given: readonly string[]): Record<string, string> {
  const params = new Map<string, string>();
  for (const one of given) {
    const at = one.indexOf('=');
    if (at <= 0) {
      throw new UsageError(`--param ${printable(one)} has no value`, 'Write it as --param NAME=value.');
    }
    const [name, value] = [one.slice(0, at), one.slice(at + 1)];
    if ((params.get(name) ?? value) !== value) {
      throw new UsageError(`--param ${printable(name)} is given two values`, 'Leave one of them out.');
    }
    params.set(name, value);
  }
  return Object.fromEntries(params);
}

async function recipientsOf({ to, channel }: SendOptions): Promise<unknown[]> {
  const [only = ''] = to;
  if (to.length === 1 && extname(only).toLowerCase() === '.json') return rowsOf(only);
  const file = to.find((one) => FILES.includes(extname(one).toLowerCase()));
  if (file !== undefined)
    throw new UsageError(
      `The file ${file} is given beside others`,
      'Give --to one file alone, or addresses.',
    );
  return to.map((address) => (channel === 'email' ? { email: address } : { phone: address }));
}

async function rowsOf(file: string): Promise<unknown[]> {
  const text = await readText(file);
  let content: unknown;
  try {
    content = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new StartupError(`${file} is not JSON: ${(error as Error).message}`, 'Correct it.');
  }
  if (Array.isArray(content) && content.length <= LIMITS.contactsPerRequest) return content;
  throw new StartupError(
    `${file} holds no array of up to ${LIMITS.contactsPerRequest} recipients`,
    'Write one array, or for more recipients a .csv or .ndjson file.',
  );
}

const appended = z.object({
  data: z.looseObject({
    received: z.number(),
    rejected: z.number(),
    errors: z.array(z.looseObject({ line: z.number(), field: z.string(), message: z.string() })),
  }),
});
const ERRORS_SHOWN = 10;

/** A draft that is left behind, because rows are wrong or the connection broke, sends nothing. */
async function sendFile(
  api: ApiClient,
  { json, skipInvalid }: SendOptions,
  campaign: object,
  { file, type, query }: { file: string; type: string; query: string },
): Promise<void> {
  // Before there is a draft, which would be left behind.
  await needReadable(file);
  const { data: draft } = await api.post('/api/campaign', { ...campaign, start: false }, saved);
  const path = `/api/campaign/${encodeURIComponent(draft.id)}`;
  const { data: report } = await api
    .postFile(`${path}/recipients${query}`, file, type, appended)
    .catch((error: unknown) => {
      throw refusedWhole(error, file, draft.id);
    });
  const wrong = report.errors
    .slice(0, ERRORS_SHOWN)
    .map(({ line, field, message }) => `  line ${line}: ${field} ${message}`);
  const isNoneLeft = report.rejected === report.received;
  if (report.rejected > 0 && (isNoneLeft || !skipInvalid)) {
    throw new StartupError(
      [`${report.rejected} of ${report.received} rows are wrong; nothing was sent`, ...wrong].join('\n'),
      isNoneLeft
        ? `Correct them and send again; the draft ${draft.id} is left without recipients.`
        : `Correct them and send again, leave them out with --skip-invalid, or start the draft ${draft.id}.`,
    );
  }
  const { data } = await api.post(`${path}/start`, {}, saved);
  print(json, { ...data, rejected: report.rejected }, [...startedLines(data), ...wrong]);
}

/** Such as a CSV whose first line names no column of an address. */
function refusedWhole(error: unknown, file: string, draft: string): unknown {
  if (!(error instanceof FanfareError) || error.isForTheMoment || error.errors.length === 0) return error;
  const findings = error.errors.slice(0, ERRORS_SHOWN).map(({ message }) => `  ${printable(message)}`);
  return new StartupError(
    [`${file} is refused; nothing was sent`, ...findings].join('\n'),
    `Correct it and send again; the draft ${draft} is left without recipients.`,
    { cause: error },
  );
}

const startedLines = ({ id, phase, warnings }: Saved): string[] => [
  `Campaign ${id} is ${phase}; follow it with \`fanfare campaign watch ${id}\`.`,
  ...warnings.map(({ message }) => `Warning: ${printable(message)}`),
];
