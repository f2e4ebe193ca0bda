import { type Command, Option } from 'commander';
import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import { MESSAGE_STATES } from '../domain/message';
import { SUPPRESSION_CHANNELS } from '../domain/suppression';
import type { ApiClient } from './api-client';
import { print, printable, withApi } from './command';
import { UsageError } from './failure';
import { openBackend } from './instance';
import { addResource, anyRow, members, readRows, rowLimit, segment, table } from './resource';

const COLUMNS = ['uid', 'channel', 'to', 'state', 'code', 'attempt', 'updatedAt'];

/** `fanfare message …` and `fanfare hold …`: single messages and tags, over HTTP; they need the API key. */
export function addMessageCommands(program: Command): void {
  addResource(program, { name: 'message', description: 'messages of the workspace', as: 'backend' }, [
    {
      usage: 'list',
      description: 'list messages, newest first',
      options: [
        new Option('--channel <channel>', 'on this channel').choices(CHANNELS),
        new Option('--state <state>', 'in this state').choices(MESSAGE_STATES),
        new Option('--campaign <tag>', 'with this tag'),
        new Option('--from <time-or-sender>', 'accepted from this time on, or of this sender'),
        new Option('--to <time-or-address>', 'accepted until this time, or to this address'),
        new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20),
      ],
      run: async (api, _, { channel, state, campaign, from, to, limit }) =>
        table(await readRows(api, '/messages', { channel, state, campaign, from, to }, limit), COLUMNS),
    },
    {
      usage: 'show <uid>',
      description: 'show a message with its events',
      run: async (api, [uid]) => members((await api.get(`/messages/${segment(uid)}`, anyRow)).data),
    },
    {
      usage: 'cancel <uid>',
      description: 'call a message back that is not with a provider yet',
      run: async (api, [uid]) => members((await api.delete(`/messages/${segment(uid)}`, anyRow)).data),
    },
  ]);
  addResource(program, { name: 'hold', description: 'messages held back by their tag', as: 'backend' }, [
    {
      usage: 'set <tag>',
      description: 'hand no message with this tag to a provider',
      run: async (api, [tag]) => members((await api.put(`/holds/${segment(tag)}`, undefined, anyRow)).data),
    },
    {
      usage: 'release <tag>',
      description: 'let them go on, in their order',
      run: async (api, [tag]) => members((await api.delete(`/holds/${segment(tag)}`, anyRow)).data),
    },
  ]);
}

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
      'One of --reason, --end and --status is needed, and not two of them',
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

const SUPPRESSION_COLUMNS = ['channel', 'address', 'reason', 'scope', 'source', 'createdAt'];
const suppressionChannel = () =>
  new Option('--channel <channel>', 'of this channel').choices(SUPPRESSION_CHANNELS);
const importedSuppressions = z.object({ data: z.looseObject({ received: z.number(), created: z.number() }) });

/** `fanfare suppression …`: addresses that the workspace does not write to, over HTTP. */
export function addSuppressionCommands(program: Command): void {
  const of = {
    name: 'suppression',
    description: 'addresses that are not written to',
    as: 'backend',
  } as const;
  addResource(program, of, [
    {
      usage: 'list',
      description: 'list suppressed addresses, newest first',
      options: [
        suppressionChannel(),
        new Option('--search <text>', 'whose address has this in it'),
        new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20),
      ],
      run: async (api, _, { channel, search, limit }) =>
        table(await readRows(api, '/api/suppression', { channel, search }, limit), SUPPRESSION_COLUMNS),
    },
    {
      usage: 'add <address>',
      description: 'write to an address no more',
      options: [
        suppressionChannel().default('all'),
        new Option('--reason <text>', 'what lists show').default('added by hand'),
        new Option('--sender <sender>', 'for messages of this sender only'),
      ],
      run: async (api, [address], { channel, reason, sender }) => {
        const body = { channel, address, reason, ...(sender ? { scope: `sender:${sender}` } : {}) };
        return members((await api.post('/api/suppression', body, anyRow)).data);
      },
    },
    {
      usage: 'import <file>',
      description: 'add the addresses of a CSV with the columns channel, address and reason',
      run: async (api, [file = '']) => {
        const { data } = await api.postFile('/api/suppression', file, 'text/csv', importedSuppressions);
        return members(data);
      },
    },
    {
      usage: 'lift <address>',
      description: 'let an address be written to again',
      options: [
        suppressionChannel().default('all'),
        new Option('--sender <sender>', 'what was suppressed for this sender only'),
      ],
      run: async (api, [address = ''], { channel, sender }) => {
        const query = new URLSearchParams({
          channel,
          address,
          ...(sender ? { scope: `sender:${sender}` } : {}),
        });
        return members((await api.delete(`/api/suppression?${query}`, anyRow)).data);
      },
    },
    {
      usage: 'export <file>',
      description: 'write all of them to a CSV that can be imported again',
      run: async (api, [file = '']) => {
        await api.getFile('/api/suppression.csv', file);
        return { data: { file }, lines: [`Written to ${file}.`] };
      },
    },
  ]);
}
