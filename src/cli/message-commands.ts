import { type Command, Option } from 'commander';
import { CHANNELS } from '../domain/channel';
import { MESSAGE_STATES } from '../domain/message';
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
