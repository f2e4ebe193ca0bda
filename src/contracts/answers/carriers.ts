import { z } from 'zod';
import { ACCOUNT_KINDS } from '../../domain/account';
import { CHANNELS } from '../../domain/channel';
import { id, success, time } from './envelope';

/** What the endpoints of accounts and routes answer (api.md 15). */
const account = z
  .strictObject({
    id,
    name: z.string(),
    kind: z.enum(ACCOUNT_KINDS),
    channels: z.array(z.enum(CHANNELS)),
    settings: z.record(z.string(), z.unknown()),
    secrets: z.array(z.string()).meta({ description: 'The names of those that are set.' }),
    workspaces: z.array(z.string()).meta({ description: '`*` for all.' }),
    ratePerSecond: z.number().optional(),
    disabled: z.boolean(),
    source: z.enum(['api', 'environment']),
    state: z
      .enum(['ok', 'paused', 'throttled'])
      .meta({ description: '`paused`: the carrier refuses the account, or it could not be opened.' }),
    reason: z.string().optional(),
    since: time,
    nextTryAt: time.optional(),
  })
  .meta({ id: 'Account' });

export const accounts = success(z.array(account));
export const oneAccount = success(account);
export const deletedAccount = success(z.strictObject({ id }));
export const checkedAccount = success(z.strictObject({ ok: z.boolean(), detail: z.string() }));

const route = z
  .strictObject({
    channel: z.enum(CHANNELS),
    workspace: id.optional(),
    sender: z.string().optional().meta({ description: 'Of email, a domain.' }),
    toPrefix: z.string().optional(),
    class: z.enum(['marketing', 'transactional']).optional(),
    accounts: z.array(z.strictObject({ account: id, weight: z.number().optional() })),
    failover: z.boolean().optional(),
  })
  .meta({ id: 'Route' });

export const routes = success(z.strictObject({ routes: z.array(route) }));

const sender = z
  .strictObject({
    id,
    workspace: id,
    channel: z.enum(CHANNELS),
    sender: z.string().meta({ description: 'Of email, a domain.' }),
    dkim: z
      .strictObject({ selector: z.string() })
      .optional()
      .meta({ description: 'The key itself is never shown.' }),
  })
  .meta({ id: 'RegisteredSender' });

export const senders = success(z.array(sender));
export const oneSender = success(sender);
export const deletedSender = success(z.strictObject({ id }));
