import { Readable } from 'node:stream';
import { answer, timestamp } from '../../contracts/common';
import { csvRow } from '../../contracts/csv-row';
import {
  scopeOf,
  suppressionBody,
  suppressionKey,
  suppressionQuery,
  suppressionRow,
} from '../../contracts/suppression';
import type { SuppressionList, SuppressionRecord } from '../../messaging/suppression/suppression';
import type { SuppressionImport } from '../../messaging/suppression/suppression-import';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import {
  addSuppression,
  exportSuppressions,
  liftSuppression,
  listSuppressions,
} from '../operations/suppression';
import type { App } from '../routing';
import { fieldErrors, parseBody } from '../validation';
import { seesAddresses } from '../viewers';

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
          return answer(200, 'Addresses imported', await suppression.importCsv(workspaceId, body, judgeRow));
        }
        const block = parseBody(suppressionBody, body);
        const { suppression: added, created } = await suppression.add(
          workspaceId,
          block,
          'api',
          generatorOf(request).id('sup'),
        );
        const status = created ? 201 : 200;
        return reply
          .code(status)
          .send(
            answer(status, created ? 'Address suppressed' : 'Address was suppressed already', present(added)),
          );
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
          .send(Readable.from(toCsv(pages), { objectMode: false }));
      },
    );
  };
}

const judgeRow: SuppressionImport = (values) => {
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

/** The columns of the import come first, so that an export can be imported. */
async function* toCsv(pages: AsyncIterable<SuppressionRecord[]>): AsyncGenerator<string> {
  yield 'channel,address,reason,scope,source,createdAt\r\n';
  for await (const page of pages) {
    yield page
      .map((one) =>
        csvRow([
          one.channel,
          one.address,
          one.reason,
          scopeOf(one.sender),
          one.source,
          timestamp(one.createdAt),
        ]),
      )
      .join('');
  }
}
