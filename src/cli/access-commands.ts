import { type Command, Option } from 'commander';
import { z } from 'zod';
import { CHANNELS } from '../domain/channel';
import {
  addResource,
  anyRow,
  members,
  type ResourceCommand,
  readRows,
  rowLimit,
  segment,
  table,
} from './resource';

/** Of an answer without `data`. */
const created = z.looseObject({ success: z.literal(true) });
const LIMIT = () => new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20);

/** `list`, `disable` and `enable` of users, clients and keys, over HTTP, logged in as an administrator. */
export function addAccessCommands(program: Command): void {
  addResource(program, { name: 'user', description: 'users of the workspace', as: 'administrator' }, [
    listOf('/api/admin/users', ['id', 'email', 'role', 'createdAt', 'disabledAt']),
    ...switchesOf('/api/admin/users', 'user'),
    {
      usage: 'role <id> <role>',
      description: 'change what a user may do',
      run: async (api, [id, role]) =>
        members((await api.patch(`/api/admin/users/${segment(id)}`, { role }, anyRow)).data),
    },
    {
      usage: 'password <id>',
      description: 'give a user a new password, which is printed once',
      run: async (api, [id]) =>
        members((await api.post(`/api/admin/users/${segment(id)}/password`, {}, anyRow)).data),
    },
  ]);
  addResource(
    program,
    { name: 'client', description: 'clients of the token endpoint', as: 'administrator' },
    [
      listOf('/api/admin/clients', ['id', 'name', 'createdAt', 'disabledAt', 'oldSecretValidTill']),
      ...switchesOf('/api/admin/clients', 'client'),
      {
        usage: 'rotate <id>',
        description: 'give a client a new secret, which is printed once',
        options: [
          new Option('--overlap-hours <number>', 'how long the old secret goes on working').argParser(Number),
          new Option('--revoke-tokens', 'end the tokens that the old secret got'),
        ],
        run: async (api, [id], { overlapHours, revokeTokens }) => {
          const body = { overlapHours, revokeTokens };
          return members((await api.post(`/api/admin/clients/${segment(id)}/rotate`, body, anyRow)).data);
        },
      },
    ],
  );
  addResource(program, { name: 'key', description: 'API keys of the workspace', as: 'administrator' }, [
    listOf('/api/admin/api-keys', ['id', 'name', 'prefix', 'createdAt', 'revokedAt']),
    {
      usage: 'create',
      description: 'create an API key, which is printed once',
      options: [new Option('--name <name>', 'what lists show').makeOptionMandatory()],
      run: async (api, _, { name }) =>
        members((await api.post('/api/admin/api-keys', { name }, anyRow)).data),
    },
    {
      usage: 'revoke <id>',
      description: 'end an API key for good',
      run: async (api, [id]) =>
        members((await api.delete(`/api/admin/api-keys/${segment(id)}`, anyRow)).data),
    },
  ]);
  addWorkspaceCommands(program);
}

function addWorkspaceCommands(program: Command): void {
  const of = {
    name: 'workspace',
    description: 'workspaces of the installation',
    as: 'administrator',
  } as const;
  addResource(program, of, [
    {
      usage: 'create <name>',
      description: 'create a workspace with its first user, client and key, which are printed once',
      options: [new Option('--email <address>', 'what its first user logs in with').makeOptionMandatory()],
      run: async (api, [name], { email }) =>
        members(await api.post('/api/admin/workspaces', { name, email }, created)),
    },
  ]);
  const limits = { name: 'sender-limit', description: 'limits of single senders', as: 'backend' } as const;
  const channel = () =>
    new Option('--channel <channel>', 'of this channel').choices(CHANNELS).makeOptionMandatory();
  addResource(program, limits, [
    listOf('/api/sender-limit', ['channel', 'sender', 'rate', 'burst', 'concurrentCalls', 'updatedAt']),
    {
      usage: 'set <sender>',
      description: 'limit how fast a sender is used',
      options: [
        channel(),
        new Option('--rate <number>', 'a second: emails, SMS segments or calls').argParser(Number),
        new Option('--concurrent-calls <number>', 'calls at the same time').argParser(Number),
      ],
      run: async (api, [sender], { channel: of, rate, concurrentCalls }) => {
        const body = { channel: of, sender, rate, concurrentCalls };
        return members((await api.put('/api/sender-limit', body, anyRow)).data);
      },
    },
    {
      usage: 'lift <sender>',
      description: 'let a sender have the limit of its channel again',
      options: [channel()],
      run: async (api, [sender = ''], { channel: of }) => {
        const query = new URLSearchParams({ channel: of, sender });
        return members((await api.delete(`/api/sender-limit?${query}`, anyRow)).data);
      },
    },
  ]);
}

const listOf = (path: string, columns: string[]): ResourceCommand => ({
  usage: 'list',
  description: 'list them, newest first',
  options: [LIMIT()],
  run: async (api, _, { limit }) => table(await readRows(api, path, {}, limit), columns),
});

const switchesOf = (path: string, what: string): ResourceCommand[] =>
  (['disable', 'enable'] as const).map((action) => ({
    usage: `${action} <id>`,
    description: action === 'disable' ? `end what a ${what} may do, at once` : `let a ${what} act again`,
    run: async (api, [id]) => members((await api.post(`${path}/${segment(id)}/${action}`, {}, anyRow)).data),
  }));
