import { Readable } from 'node:stream';
import { z } from 'zod';
import { answer, timestamp } from '../contracts/common';
import { csvRow } from '../contracts/csv-row';
import {
  importedSuppressions,
  liftedSuppression,
  scopeOf,
  suppressed,
  suppressionBody,
  suppressionKey,
  suppressionQuery,
  suppressionRow,
  suppressions,
} from '../contracts/suppression';
import type { SuppressionList, SuppressionRecord } from '../messaging/suppression/suppression';
import type { SuppressionImport } from '../messaging/suppression/suppression-import';
import { answered, EXAMPLE, page } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import type { App } from './request/routing';
import { fieldErrors, parseBody } from './request/validation';
import { seesAddresses } from './request/viewers';
import { admitted, whileAdmitted } from './request/while-admitted';

const config = { auth: 'app' } as const;

/** The addresses that a workspace does not write to (api.md 9). */
export function suppressionRoutes(suppression: SuppressionList): (app: App) => void {
  return (app) => {
    // The stream itself: it is read as fast as rows can be stored, and never held in memory as a whole.
    app.addContentTypeParser('text/csv', (_request, stream, done) => done(null, stream));

    app.get(
      '/api/suppression',
      { config, schema: { operation: listSuppressions, querystring: suppressionQuery } },
      async (request) => {
        const { page, limit } = request.query;
        // A search looks for addresses and nothing else.
        const none = request.query.search && !seesAddresses(request);
        const { suppressions, total } = none
          ? { suppressions: [], total: 0 }
          : await suppression.list(callerOf(request).workspaceId, request.query);
        return {
          ...answer(200, 'Suppressed addresses', suppressions.map(present)),
          pagination: { page, limit, total },
        };
      },
    );

    const adding = { auth: 'app', idempotent: true } as const;
    app.post(
      '/api/suppression',
      { config: adding, schema: { operation: addSuppression } },
      async (request, reply) => {
        const { workspaceId } = callerOf(request);
        const { body } = request;
        if (body instanceof Readable) {
          const report = await suppression.importCsv(workspaceId, admitted(request, body), checkRow);
          return answer(200, 'Addresses imported', report);
        }
        const block = parseBody(suppressionBody, body);
        const { suppression: added, created } = await suppression.add(
          workspaceId,
          block,
          'api',
          generatorOf(request).id('sup'),
        );
        const status = created ? 201 : 200;
        const message = created ? 'Address suppressed' : 'Address was suppressed already';
        return reply.code(status).send(answer(status, message, present(added)));
      },
    );

    const removing = { config, schema: { operation: liftSuppression, querystring: suppressionKey } };
    app.delete('/api/suppression', removing, async (request) => {
      const { channel, address, sender, anySender } = request.query;
      const key = { channel, address, sender, anySender };
      const removed = await suppression.remove(callerOf(request).workspaceId, key);
      return answer(200, 'Address is no longer suppressed', removed);
    });

    app.get(
      '/api/suppression.csv',
      { config, schema: { operation: exportSuppressions } },
      async (request, reply) => {
        const pages = suppression.pages(callerOf(request).workspaceId);
        return reply
          .type('text/csv; charset=utf-8')
          .header('content-disposition', 'attachment; filename="suppression.csv"')
          .send(Readable.from(toCsv(whileAdmitted(request, pages)), { objectMode: false }));
      },
    );
  };
}

const checkRow: SuppressionImport = (values) => {
  const checked = suppressionRow.safeParse(values, { reportInput: true });
  if (checked.success) return { block: checked.data };
  const findings = checked.error.issues.flatMap((issue) => fieldErrors(issue));
  return { findings: findings.map(({ path, code, message }) => ({ field: path, code, message })) };
};

function present(one: SuppressionRecord) {
  const { id, channel, address, reason, source } = one;
  return {
    id,
    channel,
    address,
    reason,
    scope: scopeOf(one.sender),
    source,
    createdAt: timestamp(one.createdAt),
    updatedAt: timestamp(one.updatedAt),
  };
}

/**
 * The columns of the import come first, so that an export can be imported. Entries of erased persons are left out, because
 * they have no address to import.
 */
async function* toCsv(pages: AsyncIterable<SuppressionRecord[]>): AsyncGenerator<string> {
  yield 'channel,address,reason,scope,source,createdAt\r\n';
  for await (const page of pages) {
    yield page
      .filter(({ address }) => address !== null)
      .map((one) =>
        csvRow([
          one.channel,
          one.address ?? '',
          one.reason,
          scopeOf(one.sender),
          one.source,
          timestamp(one.createdAt),
        ]),
      )
      .join('');
  }
}

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

const listSuppressions: Operation = {
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

const addSuppression: Operation = {
  id: 'addSuppression',
  access: { role: 'editor', scopes: ['suppression'] },
  tag: 'Suppression',
  summary: 'Suppress an address, or a CSV of them',
  description:
    'Looked at when an audience is frozen, when a message is accepted, and once more right before it is handed to a provider. `scope` is `workspace` unless it is `sender:` and one sender. A CSV has the columns `channel`, `address`, `reason` and, if wanted, `scope`; each row is checked alone.',
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

const liftSuppression: Operation = {
  id: 'liftSuppression',
  access: { role: 'admin', scopes: ['suppression:lift'] },
  tag: 'Suppression',
  summary: 'Lift a suppression',
  description:
    'The address may be written to again: in one scope if one is named, else in all. 404 when there is no such entry; the message names the channels on which the address has others.',
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

const exportSuppressions: Operation = {
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
