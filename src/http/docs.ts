import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { errorCatalogue, openApiAnswer } from '../contracts/docs';
import { VERSION } from '../domain/version';
import { openApiDocument } from './openapi/document';
import { json, type Operation } from './openapi/operation';
import { ASSETS, assetOf, errorList, errorsPage, PAGE_POLICY, referencePage } from './pages/reference-page';
import { OPEN } from './request/access';
import type { App, KnownRoutes } from './request/routing';

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

const readDocument: Operation = {
  id: 'readDocument',
  access: OPEN,
  tag: 'Documentation',
  summary: 'Read this document',
  description:
    'Made of the routes of this process when it starts: what is not in it does not exist, but for HEAD, which answers wherever GET does.',
  answers: {
    200: json('OpenAPI 3.1.', openApiAnswer, {
      openapi: '3.1.1',
      info: { title: 'Fanfare', version: VERSION },
      paths: {},
    }),
  },
};

const html = z.string().regex(/^<!doctype html>/i);

const readReference: Operation = {
  id: 'readReference',
  access: OPEN,
  tag: 'Documentation',
  summary: 'Browse this document',
  description:
    'The reference for people, with every operation, its examples and its errors. It loads nothing from elsewhere.',
  answers: {
    200: {
      description: 'A page that needs nothing but this service.',
      content: { 'text/html': { schema: html, example: '<!doctype html><title>Fanfare API</title>' } },
      headers: { 'content-security-policy': 'Nothing from any other host.' },
    },
  },
};

const readAsset: Operation = {
  id: 'readAsset',
  access: OPEN,
  tag: 'Documentation',
  summary: 'Get a file of the reference page',
  description: 'What the reference page loads. For browsers.',
  parameters: { file: 'reference.css' },
  answers: {
    200: {
      description: 'Style or script.',
      content: {
        'text/css': { schema: z.string(), example: 'body { margin: 0; }' },
        'text/javascript': { schema: z.string(), example: 'addEventListener("load", () => {});' },
      },
    },
  },
  errors: ['not_found'],
};

const readErrors: Operation = {
  id: 'readErrors',
  access: OPEN,
  tag: 'Documentation',
  summary: 'Read the catalogue of errors',
  description:
    'A page with an anchor for each code, which is where the `type` of a problem points; or JSON, for who accepts that and no HTML.',
  answers: {
    200: {
      description: 'Every code, with its status and whether repeating the call may help.',
      content: {
        'text/html': { schema: html, example: '<!doctype html><title>Errors</title>' },
        'application/json': {
          schema: errorCatalogue,
          example: {
            errors: [
              { code: 'invalid_request', title: 'Request is not valid', status: 422, retry: 'permanent' },
            ],
          },
        },
      },
    },
  },
};
