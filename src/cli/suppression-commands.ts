import { type Command, Option } from 'commander';
import { z } from 'zod';
import { SUPPRESSION_CHANNELS } from '../domain/suppression';
import { addResource, anyRow, members, readRows, rowLimit, table } from './resource';

const COLUMNS = ['channel', 'address', 'reason', 'scope', 'source', 'createdAt'];
const CHANNEL = () => new Option('--channel <channel>', 'of this channel').choices(SUPPRESSION_CHANNELS);
const imported = z.object({ data: z.looseObject({ received: z.number(), created: z.number() }) });

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
        CHANNEL(),
        new Option('--search <text>', 'whose address has this in it'),
        new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20),
      ],
      run: async (api, _, { channel, search, limit }) =>
        table(await readRows(api, '/api/suppression', { channel, search }, limit), COLUMNS),
    },
    {
      usage: 'add <address>',
      description: 'write to an address no more',
      options: [
        CHANNEL().default('all'),
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
        const { data } = await api.postFile('/api/suppression', file, 'text/csv', imported);
        return members(data);
      },
    },
    {
      usage: 'lift <address>',
      description: 'let an address be written to again',
      options: [
        CHANNEL().default('all'),
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
      description: 'write all of them to a CSV that can be imported',
      run: async (api, [file = '']) => {
        await api.getFile('/api/suppression.csv', file);
        return { data: { file }, lines: [`Written to ${file}.`] };
      },
    },
  ]);
}
