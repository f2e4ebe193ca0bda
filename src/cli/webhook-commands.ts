import { type Command, Option } from 'commander';
import { WEBHOOK_DELIVERY_STATES } from '../domain/webhook';
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

const COLUMNS = ['id', 'enabled', 'events', 'url', 'pending', 'failingSince'];
const DELIVERY_COLUMNS = ['id', 'type', 'state', 'attempts', 'status', 'code', 'createdAt'];
const one = (id: string | undefined) => `/api/webhook/${segment(id)}`;

/** `fanfare webhook …`: addresses that events are delivered to, over HTTP. */
export function addWebhookCommands(program: Command): void {
  addResource(program, { name: 'webhook', description: 'webhooks of the workspace', as: 'backend' }, [
    {
      usage: 'list',
      description: 'list webhooks, newest first',
      options: [new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20)],
      run: async (api, _, { limit }) => table(await readRows(api, '/api/webhook', {}, limit), COLUMNS),
    },
    {
      usage: 'create <url>',
      description: 'create a webhook; its secret is printed once',
      options: [
        new Option('--event <pattern...>', 'which events it gets').default(['*']),
        new Option('--description <text>', 'what lists show'),
      ],
      run: async (api, [url], { event, description }) => {
        const body = { url, events: event, ...(description ? { description } : {}) };
        return members((await api.post('/api/webhook', body, anyRow)).data);
      },
    },
    {
      usage: 'show <id>',
      description: 'show a webhook',
      run: async (api, [id]) => members((await api.get(one(id), anyRow)).data),
    },
    ...[true, false].map(
      (enabled): ResourceCommand => ({
        usage: `${enabled ? 'enable' : 'disable'} <id>`,
        description: enabled ? 'deliver to it again' : 'deliver nothing to it for a while',
        run: async (api, [id]) => members((await api.patch(one(id), { enabled }, anyRow)).data),
      }),
    ),
    {
      usage: 'delete <id>',
      description: 'delete a webhook with its deliveries',
      run: async (api, [id]) => members((await api.delete(one(id), anyRow)).data),
    },
    {
      usage: 'rotate-secret <id>',
      description: 'give a webhook a new secret, which is printed once',
      run: async (api, [id]) => members((await api.post(`${one(id)}/rotate-secret`, {}, anyRow)).data),
    },
    {
      usage: 'test <id>',
      description: 'deliver an event that means nothing',
      run: async (api, [id]) => members((await api.post(`${one(id)}/test`, {}, anyRow)).data),
    },
    {
      usage: 'deliveries <id>',
      description: 'list deliveries, newest first',
      options: [
        new Option('--state <state>', 'in this state').choices(WEBHOOK_DELIVERY_STATES),
        new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20),
      ],
      run: async (api, [id], { state, limit }) =>
        table(await readRows(api, `${one(id)}/deliveries`, { state }, limit), DELIVERY_COLUMNS),
    },
    {
      usage: 'redeliver <id> [delivery]',
      description: 'deliver once more what failed, or one delivery',
      run: async (api, [id, delivery]) => {
        const path =
          delivery === undefined
            ? `${one(id)}/redeliver`
            : `${one(id)}/deliveries/${segment(delivery)}/redeliver`;
        return members((await api.post(path, {}, anyRow)).data);
      },
    },
  ]);
}
