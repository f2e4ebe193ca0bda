import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import type { AuditEntry } from '../audit/entry';
import { type ChainFinding, verifyChain } from '../audit/verify-chain';
import { StartupError } from '../startup-error';
import type { ApiClient } from './api-client';
import { print, withApi } from './command';
import { needReadable } from './input-file';
import { openInstance } from './instance';

/** `fanfare audit …`: the log of who did what, read and checked over HTTP (docs/audit.md). */
export function addAuditCommands(program: Command, end: (code: number) => void): void {
  const audit = program.command('audit').description('who did what in the workspace');
  audit
    .command('verify [file]')
    .description('check that no entry was changed, removed or added; of an export, if a file is named')
    .addOption(
      new Option('--contains <hash>', 'a hash noted earlier, which must still be there').argParser(hash),
    )
    .option('--json', 'print the finding as JSON')
    .action(async (file: string | undefined, { contains, json }: VerifyOptions) => {
      const noted = contains === undefined ? [] : [contains];
      const finding =
        file === undefined
          ? await withApi(openInstance(), (api) => verifyInstance(api, noted))
          : await verifyChain(readExport(file), { contains: noted });
      const { entries, last, fault } = finding;
      const lines = fault
        ? [`${fault.problem}.`]
        : [`${entries} entries, each as it was written.`, `Hash of the newest: ${last ?? 'none'}`];
      print(json, { ok: !fault, ...finding }, lines);
      if (fault) end(1);
    });
  audit
    .command('export')
    .description('print all entries, oldest first, as one line of JSON each')
    .option('--from <time>', 'from this time on, as in 2026-11-01T00:00:00Z')
    .option('--to <time>', 'up to this time')
    .action(({ from, to }: { from?: string; to?: string }) =>
      withApi(openInstance(), async (api) => {
        for await (const entry of readEntries(api, { from, to })) await write(`${JSON.stringify(entry)}\n`);
      }),
    );
}

interface VerifyOptions {
  contains?: string;
  json?: boolean;
}

function hash(value: string): string {
  if (/^[0-9a-f]{64}$/.test(value)) return value;
  throw new InvalidArgumentError('It must be 64 hexadecimal digits.');
}

const chain = z.object({
  data: z.object({ last: z.string().nullable(), start: z.object({ prev: z.string() }).nullable() }),
});

/**
 * The end is read before the entries, so that those written meanwhile do no harm. When retention cuts the chain
 * under the reader's feet, it begins again.
 */
async function verifyInstance(api: ApiClient, noted: readonly string[]): Promise<ChainFinding> {
  for (let attempt = 1; ; attempt += 1) {
    const { last, start } = (await api.get('/api/admin/audit/chain', chain)).data;
    const finding = await verifyChain(readEntries(api, {}), {
      start: start?.prev ?? null,
      contains: [...noted, ...(last === null ? [] : [last])],
    });
    if (!finding.fault || attempt === ATTEMPTS) return finding;
    const now = (await api.get('/api/admin/audit/chain', chain)).data;
    if (now.start?.prev === start?.prev) return finding;
  }
}

/** A chain is cut once a day, in steps. */
const ATTEMPTS = 5;

const page = z.object({ data: z.array(z.unknown()), next: z.string().nullable() });

async function* readEntries(
  api: ApiClient,
  range: { from?: string | undefined; to?: string | undefined },
): AsyncGenerator<AuditEntry> {
  const query = new URLSearchParams({ order: 'oldest', limit: '100' });
  for (const [name, value] of Object.entries(range)) if (value !== undefined) query.set(name, value);
  for (;;) {
    const { data, next } = await api.get(`/api/admin/audit?${query}`, page);
    // Unparsed, because what is hashed is all that an entry holds.
    for (const entry of data) yield entry as AuditEntry;
    if (next === null) return;
    query.set('cursor', next);
  }
}

const exported = z.looseObject({
  id: z.string(),
  action: z.string(),
  hash: z.string(),
  detail: z.looseObject({}),
});

async function* readExport(file: string): AsyncGenerator<AuditEntry> {
  await needReadable(file);
  let number = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number += 1;
      if (line === '') continue;
      exported.parse(JSON.parse(line));
      yield JSON.parse(line) as AuditEntry;
    }
  } catch (error) {
    const where = number === 0 ? file : `Line ${number} of ${file}`;
    throw new StartupError(
      `${where} cannot be read as an entry`,
      'Name a file that `fanfare audit export` wrote.',
      {
        cause: error,
      },
    );
  }
}

/** Waits for a reader that is slower, such as a pipe. */
async function write(text: string): Promise<void> {
  if (process.stdout.write(text)) return;
  await new Promise((done) => process.stdout.once('drain', done));
}
