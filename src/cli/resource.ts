import { type Command, InvalidArgumentError, type Option } from 'commander';
import { z } from 'zod';
import type { ApiClient } from './api-client';
import { print, printable, withApi } from './command';
import { openBackend, openInstance } from './instance';

/** What commands on the lists and rows of a running instance have in common. */
export interface ResourceCommand {
  /** Name and arguments, as in `show <id>`. */
  usage: string;
  description: string;
  options?: Option[];
  run(api: ApiClient, args: string[], options: Options): Promise<Outcome>;
}

// biome-ignore lint/suspicious/noExplicitAny: what a command line gives, in the form that each command's own options have.
export type Options = Record<string, any>;

export interface Outcome {
  /** For `--json`. */
  data: unknown;
  /** For people. */
  lines: readonly string[];
}

/** `backend`: with the client of the workspace; `administrator`: logged in, since no client may do it. */
export function addResource(
  program: Command,
  { name, description, as }: { name: string; description: string; as: 'backend' | 'administrator' },
  commands: readonly ResourceCommand[],
): void {
  const existing = program.commands.find((one) => one.name() === name);
  const parent = existing ?? program.command(name).description(description);
  for (const { usage, description: what, options = [], run } of commands) {
    const command = parent.command(usage).description(what);
    for (const option of options) command.addOption(option);
    command.option('--json', 'print the answer as JSON').action((...given: unknown[]) => {
      const args = given.slice(0, -2).filter((one): one is string => typeof one === 'string');
      const chosen = given.at(-2) as Options;
      return withApi(as === 'backend' ? openBackend() : openInstance(), async (api) => {
        const { data, lines } = await run(api, args, chosen);
        print(chosen.json, data, lines);
      });
    });
  }
}

export type Row = Record<string, unknown>;

/** The members of an answer are printed as they come, because a newer server may send more. */
export const anyRow = z.object({ data: z.looseObject({}) });
const page = z.object({
  data: z.array(z.looseObject({})),
  next: z.string().nullish(),
  pagination: z.object({ total: z.number() }).optional(),
});

const PAGE_MAX = 100;

/** Up to `limit` rows of a list by page or by cursor, or of one that is answered whole. */
export async function readRows(
  api: ApiClient,
  path: string,
  values: Record<string, string | undefined>,
  limit: number,
): Promise<Row[]> {
  const rows: Row[] = [];
  const query = new URLSearchParams({ limit: String(Math.min(limit, PAGE_MAX)) });
  for (const [name, value] of Object.entries(values)) if (value !== undefined) query.set(name, value);
  for (let number = 1; ; number += 1) {
    const { data, next, pagination } = await api.get(`${path}?${query}`, page);
    rows.push(...data);
    const isLast = pagination === undefined ? !next : rows.length >= pagination.total;
    if (isLast || data.length === 0 || rows.length >= limit) return rows.slice(0, limit);
    if (next) query.set('cursor', next);
    else query.set('page', String(number + 1));
  }
}

/** A line for each row, with these members in columns, below a line of their names. */
export function table(rows: readonly Row[], columns: readonly string[]): Outcome {
  if (rows.length === 0) return { data: rows, lines: ['There are none.'] };
  const cells = [[...columns], ...rows.map((row) => columns.map((column) => cell(row[column])))];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => line[i]?.length ?? 0)));
  const lines = cells.map((line) =>
    line
      .map((text, i) => text.padEnd(widths[i] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return { data: rows, lines };
}

/** A line for each member. */
export function members(row: Row): Outcome {
  const shown = Object.entries(row).filter(([, value]) => value !== null && value !== undefined);
  const width = Math.max(0, ...shown.map(([name]) => name.length));
  return { data: row, lines: shown.map(([name, value]) => `${name.padEnd(width)}  ${cell(value)}`) };
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  return printable(typeof value === 'string' ? value : JSON.stringify(value));
}

const LIMIT_MAX = 10_000;

export const rowLimit = (value: string): number => countUpTo(LIMIT_MAX, value);

export function countUpTo(most: number, value: string): number {
  const number = Number(value);
  if (Number.isInteger(number) && number >= 1 && number <= most) return number;
  throw new InvalidArgumentError(`It must be a whole number from 1 to ${most}.`);
}

/** Bounds are the server's. Text that is no number would be sent as null, which means that nothing is limited. */
export function anyNumber(value: string): number {
  const number = Number(value);
  if (value.trim() !== '' && Number.isFinite(number)) return number;
  throw new InvalidArgumentError('It must be a number, such as 10 or 0.5.');
}

/** A path of which each value is one segment. */
export const segment = (value: string | undefined): string => encodeURIComponent(value ?? '');
