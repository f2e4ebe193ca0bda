import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { openApiDocument } from '../openapi';
import { readAsset, readDocument, readErrors, readReference } from '../operations/service';
import { ASSETS, assetOf, errorList, errorsPage, PAGE_POLICY, referencePage } from '../reference-page';
import type { App, KnownRoutes } from '../routing';

const assetParams = z.object({ file: z.enum(ASSETS) });

/** The API's document and the pages that show it (api.md 2: open to every caller). */
export function docsRoutes(routes: KnownRoutes): (app: App) => void {
  const config = { auth: 'open' } as const;
  /** Created at the first request, because most processes never get one. */
  let text: string | undefined;

  return (app) => {
    app.get('/openapi.json', { config, schema: { operation: readDocument } }, async (_request, reply) => {
      text ??= JSON.stringify(openApiDocument(routes));
      return reply.type('application/json; charset=utf-8').send(text);
    });

    app.get('/docs', { config, schema: { operation: readReference } }, async (_request, reply) =>
      sendPage(reply, referencePage),
    );

    app.get('/docs/errors', { config, schema: { operation: readErrors } }, async (request, reply) => {
      reply.header('vary', 'accept');
      return prefersJson(request) ? errorList : sendPage(reply, errorsPage);
    });

    const asset = { params: assetParams, operation: readAsset };
    app.get('/docs/static/:file', { config, schema: asset }, async (request, reply) => {
      const { file } = request.params;
      return reply
        .type(file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8')
        .header('cache-control', 'public, max-age=3600')
        .header('x-content-type-options', 'nosniff')
        .send(await assetOf(file));
    });
  };
}

function sendPage(reply: FastifyReply, page: string): FastifyReply {
  return reply
    .type('text/html; charset=utf-8')
    .header('content-security-policy', PAGE_POLICY)
    .header('x-content-type-options', 'nosniff')
    .header('referrer-policy', 'no-referrer')
    .send(page);
}

/** Browsers ask for HTML; programs ask for JSON, or for nothing. */
function prefersJson({ headers }: FastifyRequest): boolean {
  const accept = headers.accept ?? '';
  return /\bjson\b/i.test(accept) && !/\btext\/html\b/i.test(accept);
}
