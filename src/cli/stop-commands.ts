import type { Command } from 'commander';
import { z } from 'zod';
import type { ApiClient } from './api-client';
import { print, printable, withApi } from './command';
import { UsageError } from './failure';
import { openBackend } from './instance';

interface StopOptions {
  reason?: string;
  end?: boolean;
  status?: boolean;
  json?: boolean;
}

/** `fanfare stop` (api.md 19), on a running instance over HTTP. */
export function addStopCommand(program: Command): void {
  program
    .command('stop')
    .description('hand nothing of the workspace to any provider, until the stop is ended')
    .option('--reason <text>', 'stop it, and say why')
    .option('--end', 'end the stop: all goes on where it stood')
    .option('--status', 'show whether the workspace is stopped')
    .option('--json', 'print the stop as JSON, null without one')
    .action((options: StopOptions) => withApi(openBackend(), (api) => steerStop(api, options)));
}

const PATH = '/api/stop';
const stop = z.object({ since: z.string(), by: z.string().nullable(), reason: z.string() });
const answer = z.object({ data: stop.nullable() });

async function steerStop(api: ApiClient, { reason, end, status, json }: StopOptions): Promise<void> {
  if ([reason !== undefined, end, status].filter(Boolean).length !== 1) {
    throw new UsageError(
      'One of --reason, --end and --status is needed',
      'To stop the workspace, run `fanfare stop --reason <text>`; to let it go on, `fanfare stop --end`.',
    );
  }
  const call = end
    ? api.delete(PATH, answer)
    : status
      ? api.get(PATH, answer)
      : api.post(PATH, { reason }, answer);
  const { data } = await call;
  print(json, data, [data ? told(data) : 'The workspace is not stopped.']);
}

const told = ({ since, by, reason }: z.output<typeof stop>) =>
  `The workspace is stopped since ${since}${by === null ? '' : ` by ${printable(by)}`}: ${printable(reason)}`;
