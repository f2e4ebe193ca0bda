import { z } from 'zod';
import {
  importedSuppressions,
  liftedSenderLimit,
  liftedSuppression,
  savedSenderLimit,
  senderLimits,
  suppressed,
  suppressions,
} from '../../contracts/answers/suppression';
import { senderLimitBody } from '../../contracts/sender-limits';
import { suppressionBody } from '../../contracts/suppression';
import { json, jsonBody, type Operation } from '../operation';
import { answered, EXAMPLE, page } from './examples';

const BLOCK = {
  id: EXAMPLE.suppression,
  channel: 'email' as const,
  address: 'leave-me@example.com',
  reason: 'asked by phone',
  scope: 'workspace',
  source: 'api' as const,
  createdAt: EXAMPLE.at,
  updatedAt: EXAMPLE.at,
};

export const listSuppressions: Operation = {
  id: 'listSuppressions',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Suppression',
  summary: 'List suppressed addresses',
  description: 'Newest first. `search` finds its term in addresses and reasons.',
  parameters: { page: '1', limit: '20', channel: 'email', search: 'leave-me' },
  answers: {
    200: json('A page of suppressed addresses.', suppressions, {
      ...answered(200, 'Suppressed addresses', [BLOCK]),
      pagination: page(1),
    }),
  },
};

const CSV = `channel,address,reason
sms,+12025550188,complained
all,gone@example.com,moved away
`;
const CSV_REPORT = { received: 2, created: 2, updated: 0, unchanged: 0, rejected: 0, errors: [] };

export const addSuppression: Operation = {
  id: 'addSuppression',
  access: { role: 'editor', scopes: ['suppression'] },
  tag: 'Suppression',
  summary: 'Suppress an address, or a CSV of them',
  description:
    'Looked at when an audience is frozen, when a message is accepted, and once more right before it is handed to a provider. `scope` is `workspace` unless it is `sender:` and one sender. A CSV has the columns `channel`, `address`, `reason` and, if wanted, `scope`; each row is judged alone.',
  body: {
    content: {
      'application/json': {
        schema: suppressionBody,
        examples: { address: { channel: 'email', address: BLOCK.address, reason: BLOCK.reason } },
      },
      'text/csv': { schema: z.string(), examples: { table: CSV } },
    },
  },
  answers: {
    201: json('Suppressed.', suppressed, answered(201, 'Address suppressed', BLOCK)),
    200: json(
      'It was suppressed already, or: what became of the rows of a CSV.',
      z.union([suppressed, importedSuppressions]),
      answered(200, 'Addresses imported', CSV_REPORT),
    ),
  },
  errors: ['dependency_down'],
};

export const liftSuppression: Operation = {
  id: 'liftSuppression',
  access: { role: 'admin', scopes: ['suppression:lift'] },
  tag: 'Suppression',
  summary: 'Lift a suppression',
  description:
    'The address may be written to again: in one scope if one is named, else in all. 404 when nothing was suppressed.',
  parameters: { channel: 'email', address: BLOCK.address },
  answers: {
    200: json(
      'Lifted.',
      liftedSuppression,
      answered(200, 'Address is no longer suppressed', { removed: 1, stillSuppressed: false }),
    ),
  },
  errors: ['not_found'],
};

export const exportSuppressions: Operation = {
  id: 'exportSuppressions',
  access: { role: 'viewer', scopes: ['read'] },
  bound: 'streams',
  tag: 'Suppression',
  summary: 'Export the suppressed addresses',
  description:
    'All suppressions of the workspace, streamed, whatever their number. The columns are those of the import, so that the file can be imported elsewhere.',
  answers: {
    200: {
      description: 'All of them.',
      content: {
        'text/csv': {
          schema: z.string().regex(/^channel,address,reason,scope,source,createdAt\r\n/),
          example: `channel,address,reason,scope,source,createdAt\r\nsms,+12025550188,complained,workspace,csv,${EXAMPLE.at}\r\n`,
        },
      },
      headers: { 'content-disposition': 'A name for the file.' },
    },
  },
};

const LIMIT = {
  channel: 'sms' as const,
  sender: '12345',
  rate: 50,
  burst: 100,
  concurrentCalls: null,
  updatedAt: EXAMPLE.at,
};

export const listSenderLimits: Operation = {
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

export const setSenderLimit: Operation = {
  id: 'setSenderLimit',
  access: { role: 'sender', scopes: ['send'] },
  tag: 'Sender limits',
  summary: 'Limit a sender',
  description:
    '`rate` is a second’s emails, SMS segments or calls, of which `burst` may go at once. It replaces what was set before, and the configuration’s default; a member that is null or absent does not limit.',
  body: jsonBody(senderLimitBody, { shortCode: { channel: 'sms', sender: '12345', rate: 50, burst: 100 } }),
  answers: { 200: json('In force.', savedSenderLimit, answered(200, 'Limit set', LIMIT)) },
};

export const liftSenderLimit: Operation = {
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
