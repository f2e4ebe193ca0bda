import { text } from 'node:stream/consumers';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { z } from 'zod';
import { lookedForSender } from '../contracts/addresses';
import { ROLES, SCOPES } from '../domain/access';
import { CHANNELS } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { senderKey } from '../domain/suppression';
import type { ApiClient } from './api-client';
import { print, withApi } from './command';
import { UsageError } from './failure';
import { afterChangeOf, openInstance } from './instance';
import {
  addResource,
  anyNumber,
  anyRow,
  members,
  type Options,
  type Outcome,
  type ResourceCommand,
  readRows,
  rowLimit,
  segment,
  table,
} from './resource';

/** An answer without `data`. */
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
          new Option('--overlap-hours <number>', 'how long the old secret goes on working').argParser(
            anyNumber,
          ),
          new Option('--revoke-tokens', 'end the tokens that the old secret got'),
        ],
        run: rotateClient,
      },
    ],
  );
  addResource(program, { name: 'key', description: 'API keys of the workspace', as: 'administrator' }, [
    listOf('/api/admin/api-keys', ['id', 'name', 'prefix', 'createdAt', 'revokedAt']),
    {
      usage: 'create',
      description: 'create an API key, which is printed once',
      options: [new Option('--name <name>', 'what lists show').makeOptionMandatory(), scopesOption()],
      run: async (api, _, { name, scopes }) =>
        members((await api.post('/api/admin/api-keys', { name, scopes }, anyRow)).data),
    },
    {
      usage: 'revoke <id>',
      description: 'end an API key for good',
      run: revokeKey,
    },
  ]);
  addWorkspaceCommands(program);
  addSenderCommands(program);
}

async function rotateClient(
  api: ApiClient,
  [id = '']: string[],
  { overlapHours, revokeTokens }: Options,
): Promise<Outcome> {
  const body = { overlapHours, revokeTokens };
  const { data } = await api.post(`/api/admin/clients/${segment(id)}/rotate`, body, anyRow);
  const next = await afterChangeOf('secret', ({ client }) => client.id === id);
  return { data, lines: [...members(data).lines, ...next] };
}

async function revokeKey(api: ApiClient, [id]: string[]): Promise<Outcome> {
  const { data } = await api.delete(`/api/admin/api-keys/${segment(id)}`, anyRow);
  const next = await afterChangeOf('key', ({ apiKey }) => apiKey.startsWith(String(data.prefix)));
  return { data, lines: [...members(data).lines, ...next] };
}

function addWorkspaceCommands(program: Command): void {
  const of = {
    name: 'workspace',
    description: 'workspaces of the installation',
    as: 'administrator',
  } as const;
  addResource(program, of, [
    listOf('/api/admin/workspaces', ['id', 'name', 'createdAt']),
    {
      usage: 'create <name>',
      description: 'create a workspace with its first user, client and key, which are printed once',
      options: [new Option('--email <address>', 'what its first user logs in with').makeOptionMandatory()],
      run: async (api, [name], { email }) =>
        members(await api.post('/api/admin/workspaces', { name, email }, created)),
    },
  ]);
}

const SENDERS = '/api/admin/senders';
const SENDER_LIMITS = '/api/sender-limit';

function addSenderCommands(program: Command): void {
  const senders = {
    name: 'sender',
    description: 'senders that one workspace has',
    as: 'administrator',
  } as const;
  const channel = () =>
    new Option('--channel <channel>', 'of this channel').choices(CHANNELS).makeOptionMandatory();
  addResource(program, senders, [
    listOf(SENDERS, ['id', 'workspace', 'channel', 'sender'], 'oldest first'),
    {
      usage: 'register <sender>',
      description: 'give a sender, of email a domain, to one workspace alone',
      options: [channel(), new Option('--workspace <id>', 'which may use it').makeOptionMandatory()],
      run: async (api, [sender], { channel: of, workspace }) =>
        members((await api.post(SENDERS, { workspace, channel: of, sender }, anyRow)).data),
    },
    {
      usage: 'remove <id>',
      description: 'take a sender away from its workspace',
      run: async (api, [id]) => members((await api.delete(`${SENDERS}/${segment(id)}`, anyRow)).data),
    },
  ]);
  const limits = { name: 'sender-limit', description: 'limits of single senders', as: 'backend' } as const;
  addResource(program, limits, [
    listOf(
      SENDER_LIMITS,
      ['channel', 'sender', 'rate', 'burst', 'concurrentCalls', 'updatedAt'],
      'by channel and sender',
    ),
    {
      usage: 'set <sender>',
      description: 'limit how fast a sender is used; "off" is no limit, and what is not given stays as it is',
      options: [
        channel(),
        new Option('--rate <number>', 'a second: emails, SMS segments or calls').argParser(numberOrOff),
        new Option('--burst <number>', 'how many at once after a silence; without it the rate').argParser(
          numberOrOff,
        ),
        new Option('--concurrent-calls <number>', 'calls at the same time').argParser(numberOrOff),
      ],
      run: setSenderLimit,
    },
    {
      usage: 'lift <sender>',
      description: 'let a sender have the limit of its channel again',
      options: [channel()],
      run: async (api, [sender = ''], { channel: of }) => {
        const query = new URLSearchParams({ channel: of, sender });
        return members((await api.delete(`${SENDER_LIMITS}?${query}`, anyRow)).data);
      },
    },
  ]);
}

/** `PUT` replaces all limits, so what the line does not name is written as it is. */
async function setSenderLimit(
  api: ApiClient,
  [sender = '']: string[],
  { channel, rate, burst, concurrentCalls }: Options,
): Promise<Outcome> {
  if (rate === undefined && burst === undefined && concurrentCalls === undefined) {
    throw new UsageError(
      'One of --rate <number>, --burst <number> and --concurrent-calls <number> is needed',
      'To use the sender without a limit, run it with `--rate off`; to give it the limit of its channel again, `fanfare sender-limit lift`.',
    );
  }
  if (concurrentCalls !== undefined && channel !== 'voice')
    throw new UsageError('--concurrent-calls is of voice alone', 'Leave it out, and give --rate.');
  const all = await readRows(api, SENDER_LIMITS, { channel }, LIMITS.senderLimits);
  const before = all.find((one) => one.sender === senderKey(lookedForSender(sender)));
  const body = {
    channel,
    sender,
    rate: limitOf(rate, before?.rate),
    // A burst is of a rate, and ends with it.
    burst: limitOf(burst, rate === 'off' ? null : before?.burst),
    concurrentCalls: limitOf(concurrentCalls, before?.concurrentCalls),
  };
  const { data } = await api.put(SENDER_LIMITS, body, anyRow);
  const limits = channel === 'voice' ? ['rate', 'concurrentCalls'] : ['rate'];
  const none = Object.fromEntries(
    limits.flatMap((one) => (data[one] === null ? [[one, 'not limited']] : [])),
  );
  return { data, lines: members({ ...data, ...none }).lines };
}

const numberOrOff = (value: string) => (value === 'off' ? value : anyNumber(value));
const limitOf = (given: number | 'off' | undefined, before: unknown) =>
  given === 'off' ? null : (given ?? before);

const listOf = (path: string, columns: string[], order = 'newest first'): ResourceCommand => ({
  usage: 'list',
  description: `list them, ${order}`,
  options: [LIMIT()],
  run: async (api, _, { limit }) => table(await readRows(api, path, {}, limit), columns),
});

const switchesOf = (path: string, what: string): ResourceCommand[] =>
  (['disable', 'enable'] as const).map((action) => ({
    usage: `${action} <id>`,
    description: action === 'disable' ? `end what a ${what} may do, at once` : `let a ${what} act again`,
    run: async (api, [id]) => members((await api.post(`${path}/${segment(id)}/${action}`, {}, anyRow)).data),
  }));

/** `fanfare user create` and `fanfare client create` (api.md 13), on a running instance. */
export function addAdminCommands(program: Command): void {
  const user = program.command('user').description('users of the workspace');
  user
    .command('create')
    .description('create a user; the password is made, and printed once')
    .requiredOption('--email <address>', 'what the user logs in with')
    .addOption(new Option('--role <role>', 'what the user may do').choices(ROLES).default('sender'))
    .option('--password-stdin', 'read a password from the standard input instead of making one')
    .option('--json', 'print the user as JSON')
    .action((options: UserOptions) => withApi(openInstance(), (api) => createUser(api, options)));

  const client = program.command('client').description('clients of the token endpoint');
  client
    .command('create')
    .description('create a client; its secret is printed once')
    .requiredOption('--name <name>', 'what lists show')
    .addOption(scopesOption())
    .option('--json', 'print the client as JSON')
    .action((options: ClientOptions) => withApi(openInstance(), (api) => createClient(api, options)));
}

/** Scopes have commas or spaces between them. Nothing but commas is refused: what has no scope may do nothing. */
const scopesOption = () =>
  new Option('--scopes <scope...>', 'what it may do; without them all but suppression:lift and policy')
    .choices(SCOPES)
    .argParser((value: string, before?: string[]) => {
      const given = value.split(/[,\s]+/).filter((one) => one !== '');
      if (given.length > 0 && given.every((one) => (SCOPES as readonly string[]).includes(one)))
        return [...(before ?? []), ...given];
      throw new InvalidArgumentError(`Allowed choices are ${SCOPES.join(', ')}.`);
    });

interface UserOptions {
  email: string;
  role: string;
  passwordStdin?: boolean;
  json?: boolean;
}

interface ClientOptions {
  name: string;
  scopes?: string[];
  json?: boolean;
}

const createdUser = z.object({
  data: z.looseObject({ id: z.string(), role: z.string(), password: z.string().optional() }),
});

async function createUser(api: ApiClient, { email, role, passwordStdin, json }: UserOptions): Promise<void> {
  // A password among the arguments would be visible to every user who lists processes.
  const password = passwordStdin ? { password: (await text(process.stdin)).replace(/\r?\n$/, '') } : {};
  const { data } = await api.post('/api/admin/users', { email, role, ...password }, createdUser);
  print(json, data, [
    `User ${data.id} was created with the role ${data.role}.`,
    ...(data.password === undefined ? [] : [`Password, shown this once: ${data.password}`]),
  ]);
}

const createdClient = z.object({ data: z.looseObject({ id: z.string(), secret: z.string() }) });

async function createClient(api: ApiClient, { name, scopes, json }: ClientOptions): Promise<void> {
  const { data } = await api.post('/api/admin/clients', { name, scopes }, createdClient);
  print(json, data, [`Client ${data.id} was created.`, `Secret, shown this once: ${data.secret}`]);
}
