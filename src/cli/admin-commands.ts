import { text } from 'node:stream/consumers';
import { type Command, Option } from 'commander';
import { z } from 'zod';
import { ROLES, SCOPES } from '../domain/access';
import type { ApiClient } from './api-client';
import { print, withApi } from './command';
import { openInstance } from './instance';

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
    .addOption(
      new Option(
        '--scopes <scope...>',
        'what it may do; without them all but suppression:lift and policy',
      ).choices(SCOPES),
    )
    .option('--json', 'print the client as JSON')
    .action((options: ClientOptions) => withApi(openInstance(), (api) => createClient(api, options)));
}

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
