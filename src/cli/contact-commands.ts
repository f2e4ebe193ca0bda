import { stat } from 'node:fs/promises';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { StartupError } from '../startup-error';
import type { ApiClient } from './api-client';
import { print, printable, withApi } from './command';
import { openBackend } from './instance';
import { createProgressLine } from './progress-line';
import { countUpTo } from './resource';
import { listenForStop } from './stop-signals';

interface ImportOptions {
  country?: string;
  json?: boolean;
}

/** `fanfare contacts import` (api.md 6 and 13), on a running instance over HTTP. */
export function addContactCommands(program: Command): void {
  const contacts = program.command('contacts').description('contacts of the workspace');
  contacts
    .command('import <list> <file>')
    .description('import a CSV of any length into a contact list, named by its id')
    .option('--country <code>', 'where phone numbers are that name no country, such as US')
    .option('--json', 'print the result as JSON, with every error that is listed')
    .action(async (list, file, options: ImportOptions) => {
      const stop = listenForStop();
      try {
        await withApi(openBackend(stop.signal), (api) => importContacts(api, list, file, options));
      } finally {
        stop.dispose();
      }
    });
  contacts
    .command('timeline <id>')
    .description('why a contact was, or was not, written to or called')
    .option('--limit <n>', 'entries, newest first', timelineLimit, 20)
    .option('--json', 'print the entries as JSON')
    .action(async (id, options: TimelineOptions) => {
      await withApi(openBackend(), (api) => showTimeline(api, id, options));
    });
}

const list = z.object({ data: z.object({ id: z.string(), name: z.string() }) });
const imported = z.object({
  data: z.looseObject({
    received: z.number(),
    created: z.number(),
    updated: z.number(),
    unchanged: z.number(),
    rejected: z.number(),
    errors: z.array(z.object({ line: z.number(), field: z.string(), code: z.string(), message: z.string() })),
  }),
});

/** Refused rows neither stop the import nor fail the command. Run again, it changes nothing. */
async function importContacts(
  api: ApiClient,
  listId: string,
  file: string,
  { country, json }: ImportOptions,
): Promise<void> {
  const size = await sizeOf(file);
  const path = `/api/contact-list/${encodeURIComponent(listId)}`;
  // Check that the list exists before sending a gigabyte to it.
  const { name } = (await api.get(path, list)).data;
  const query = country === undefined ? '' : `?country=${encodeURIComponent(country)}`;
  const line = createProgressLine(process.stderr);
  try {
    const { data } = await api.postFile(`${path}/contacts${query}`, file, 'text/csv', imported, (bytes) =>
      line.update(`uploading ${megabytes(bytes)} of ${megabytes(size)} MB (${percent(bytes, size)} %)`),
    );
    line.finish();
    print(json, data, [
      `${printable(name)}: ${data.received} rows, ${data.created} contacts created, ${data.updated} updated, ` +
        `${data.unchanged} unchanged, ${data.rejected} rejected`,
      ...data.errors.slice(0, ERRORS_SHOWN).map((one) => `  line ${one.line}: ${one.field} ${one.message}`),
      ...(data.rejected > ERRORS_SHOWN ? ['  and more; --json lists the first thousand'] : []),
    ]);
  } catch (error) {
    line.finish();
    throw error;
  }
}

const ERRORS_SHOWN = 10;

async function sizeOf(file: string): Promise<number> {
  const found = await stat(file).catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(
      `${file} cannot be read: ${error.code}`,
      'Name a CSV file that this user may read.',
    );
  });
  if (found.isFile()) return found.size;
  throw new StartupError(`${file} is no file`, 'Name a CSV file.');
}

const megabytes = (bytes: number): string => (bytes / 1_000_000).toFixed(1);
const percent = (part: number, whole: number): number => Math.floor((100 * part) / Math.max(1, whole));

const timelineLimit = (value: string): number => countUpTo(LIMITS.timelinePageMax, value);

interface TimelineOptions {
  limit: number;
  json?: boolean;
}

const timeline = z.object({
  data: z.array(z.looseObject({ kind: z.string(), at: z.string() })),
  next: z.string().nullable(),
});
type Entry = z.output<typeof timeline>['data'][number];

async function showTimeline(api: ApiClient, id: string, options: TimelineOptions): Promise<void> {
  const path = `/api/contact/${encodeURIComponent(id)}/timeline?limit=${options.limit}`;
  const { data, next } = await api.get(path, timeline);
  const lines = data.map((entry) => `${entry.at}  ${printable(textOf(entry))}`);
  if (data.length === 0) lines.push('Nothing is known of this contact.');
  if (next !== null) lines.push('and more; --limit shows up to 200');
  print(options.json, { data, next }, lines);
}

function textOf(entry: Entry): string {
  const {
    kind,
    channel,
    campaign,
    state,
    code,
    reason,
    policyVersion,
    messages,
    uid,
    source,
    since,
    liftedBy,
  } = entry;
  const because = code ? ` (${code})` : '';
  const policy = policyVersion ? `, policy ${policyVersion}` : '';
  switch (kind) {
    case 'recipient': {
      const count = Array.isArray(messages) ? messages.length : 0;
      return `${channel} of "${campaign}": ${state}${because}, ${count} messages${policy}`;
    }
    case 'skipped':
      return `${channel} of "${campaign}": left out, ${reason}${policy}`;
    case 'send':
      return `${channel}, durable send ${uid}: ${state}${because}`;
    case 'cap_place':
      return `${channel}: message ${uid} counts for caps`;
    case 'suppression':
      return `${channel}: suppressed, ${reason} (${source})`;
    case 'suppression_lifted':
      return `${channel}: suppressed no longer, lifted by ${liftedBy}; since ${since} ${reason} (${source})`;
    default:
      return kind;
  }
}

interface ExplainOptions {
  channel?: string;
  run?: string;
  json?: boolean;
}

/** `fanfare explain` (api.md 19), on a running instance over HTTP. */
export function addExplainCommand(program: Command): void {
  program
    .command('explain <campaign> <address>')
    .description('tell why a person was, or was not, sent a campaign, and what comes next')
    .addOption(
      new Option('--channel <channel>', 'on this channel; else the one that was last acted on').choices(
        CHANNELS,
      ),
    )
    .option('--run <id>', 'in this run; else the newest one that has the person')
    .option('--json', 'print the explanation as JSON')
    .action((campaign, address, options: ExplainOptions) =>
      withApi(openBackend(), (api) => explain(api, campaign, address, options)),
    );
}

const explanation = z.object({
  data: z.looseObject({
    summary: z.string(),
    next: z.object({ at: z.string().optional(), why: z.string(), detail: z.string() }).nullable(),
    steps: z.array(
      z.looseObject({ at: z.string(), what: z.string(), code: z.string().optional(), detail: z.string() }),
    ),
    others: z.array(z.string()),
  }),
});

async function explain(
  api: ApiClient,
  campaign: string,
  address: string,
  { channel, run, json }: ExplainOptions,
): Promise<void> {
  const query = new URLSearchParams({
    ...{ campaign, to: address },
    ...(channel === undefined ? {} : { channel }),
    ...(run === undefined ? {} : { runId: run }),
  });
  const { data } = await api.get(`/api/explain?${query}`, explanation);
  const { summary, next, steps, others } = data;
  const width = Math.max(...steps.map(({ what }) => what.length));
  print(json, data, [
    printable(summary),
    '',
    ...steps.map(
      ({ at, what, code, detail }) =>
        `${at}  ${what.padEnd(width)}  ${printable(detail)}${code === undefined ? '' : ` (${printable(code)})`}`,
    ),
    ...(next ? ['', `next: ${next.why}${next.at === undefined ? '' : `, at ${next.at}`}`] : []),
    ...(others.length > 0 ? ['', `The person's other recipients: ${others.join(', ')}`] : []),
  ]);
}
