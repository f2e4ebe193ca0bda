import { answer, timestamp } from '../contracts/common';
import {
  liftedSenderLimit,
  savedSenderLimit,
  senderLimitBody,
  senderLimitKey,
  senderLimitQuery,
  senderLimits,
} from '../contracts/sender-limits';
import type { SenderLimitList, SenderLimitRecord } from '../messaging/senders/sender-limit-list';
import { answered, EXAMPLE, page } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

const config = { auth: 'app' } as const;

/** Rate limits of single senders that differ from the configured default (decision 6). */
export function senderLimitRoutes(limits: SenderLimitList): (app: App) => void {
  return (app) => {
    app.get(
      '/api/sender-limit',
      { config, schema: { operation: listSenderLimits, querystring: senderLimitQuery } },
      async (request) => {
        const { page, limit } = request.query;
        const found = await limits.list(callerOf(request).workspaceId, request.query);
        return {
          ...answer(200, 'Limits of senders', found.limits.map(present)),
          pagination: { page, limit, total: found.total },
        };
      },
    );

    app.put(
      '/api/sender-limit',
      { config, schema: { operation: setSenderLimit, body: senderLimitBody } },
      async (request) => {
        const { channel, sender, rate, burst, concurrentCalls } = request.body;
        const set = await limits.put(
          callerOf(request).workspaceId,
          { channel, sender },
          {
            rate: rate ?? undefined,
            burst: burst ?? undefined,
            concurrentCalls: concurrentCalls ?? undefined,
          },
        );
        return answer(200, 'Limit set', present(set));
      },
    );

    const removing = { config, schema: { operation: liftSenderLimit, querystring: senderLimitKey } };
    app.delete('/api/sender-limit', removing, async (request) => {
      await limits.remove(callerOf(request).workspaceId, request.query);
      return answer(200, 'The sender is limited as all others', { channel: request.query.channel });
    });
  };
}

function present({ updatedAt, ...limit }: SenderLimitRecord) {
  return { ...limit, updatedAt: timestamp(updatedAt) };
}

const LIMIT = {
  channel: 'sms' as const,
  sender: '12345',
  rate: 50,
  burst: 100,
  concurrentCalls: null,
  updatedAt: EXAMPLE.at,
};

const listSenderLimits: Operation = {
  id: 'listSenderLimits',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Sender limits',
  summary: 'List the limits of senders',
  description:
    'The senders of the workspace that have a limit of their own, by page. Every other sender has the limit of its channel.',
  parameters: { page: '1', limit: '20', channel: 'sms' },
  answers: {
    200: json('A page of limits.', senderLimits, {
      ...answered(200, 'Limits of senders', [LIMIT]),
      pagination: page(1),
    }),
  },
};

const setSenderLimit: Operation = {
  id: 'setSenderLimit',
  access: { role: 'sender', scopes: ['send'] },
  tag: 'Sender limits',
  summary: 'Limit a sender',
  description:
    '`rate` is a second’s emails, SMS segments or calls, of which `burst` may go at once. It replaces what was set before, and the configuration’s default; a member that is null or absent does not limit.',
  body: jsonBody(senderLimitBody, { shortCode: { channel: 'sms', sender: '12345', rate: 50, burst: 100 } }),
  answers: { 200: json('In force.', savedSenderLimit, answered(200, 'Limit set', LIMIT)) },
};

const liftSenderLimit: Operation = {
  id: 'liftSenderLimit',
  access: { role: 'sender', scopes: ['send'] },
  tag: 'Sender limits',
  summary: 'Limit a sender as all others',
  description:
    'Removes the sender’s own limit, so that the limit of its channel holds from then on. 404 when it had none.',
  parameters: { channel: 'sms', sender: '12345' },
  answers: {
    200: json(
      'As all others.',
      liftedSenderLimit,
      answered(200, 'The sender is limited as all others', { channel: 'sms' }),
    ),
  },
  errors: ['not_found'],
};
