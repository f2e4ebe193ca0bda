import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import type { Needs } from '../../domain/access';
import { VERSION } from '../../domain/version';
import { type Access, OPEN } from '../request/access';
import type { KnownRoutes } from '../request/routing';
import { createErrorExamples, type ErrorExamples, errorAnswers } from './errors';
import { type AnswerDoc, type Operation, type RequestBody, TAGS } from './operation';
import {
  ACTING_USER,
  HEADERS,
  IDEMPOTENCY_KEY,
  INTRODUCTION,
  REQUEST_ID,
  SECURITY,
  SECURITY_SCHEMES,
} from './parts';
import { createSchemas, type JsonSchema, type Schemas } from './schemas';
import type { OpenApiDocument, OperationObject, ParameterObject, ResponseObject } from './types';

/**
 * The OpenAPI 3.1 document of a server's routes. Parameters and bodies come from the zod schemas that check
 * requests. Callers and idempotency come from each route's `config`, everything else from its
 * `schema.operation`. A route without an operation is left out; a test looks for such routes.
 */
export function openApiDocument(routes: KnownRoutes): OpenApiDocument {
  const schemas = createSchemas();
  const examples = createErrorExamples();
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    const operation = route.schema?.operation;
    if (!operation) continue;
    for (const method of [route.method].flat()) {
      // The framework answers HEAD wherever there is a GET.
      if (method === 'HEAD') continue;
      const path = documentedPath(route.url);
      paths[path] = { ...paths[path], [method.toLowerCase()]: describe(route, operation, schemas, examples) };
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fanfare',
      version: VERSION,
      summary: 'Durable multichannel campaigns: email, SMS and voice.',
      description: INTRODUCTION,
    },
    // The address that this document was read from.
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: {
      schemas: schemas.components(),
      examples: examples.components(),
      securitySchemes: SECURITY_SCHEMES,
      headers: HEADERS,
    },
  };
}

/** `/api/x/:id` as the document writes it. */
export const documentedPath = (url: string): string =>
  url.replace(/(?<=.)\/$/, '').replace(/:([A-Za-z0-9_]+)/g, '{$1}');

function describe(
  route: RouteOptions,
  operation: Operation,
  schemas: Schemas,
  examples: ErrorExamples,
): OperationObject {
  const body = bodyOf(route, operation);
  const parameters = parametersOf(route, operation, schemas);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    description: [operation.description, ...needsOf(operation.access)].join('\n\n'),
    ...(operation.access === OPEN ? {} : { 'x-access': operation.access }),
    security: securityOf(route, operation.access),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(body, schemas) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [
          status,
          success(answer, schemas, route.config?.idempotent !== undefined),
        ]),
      ),
      ...errorAnswers(route, operation, schemas, examples),
    },
  };
}

/** Throws if the schema that a route checks differs from the one that its operation shows. */
function bodyOf(route: RouteOptions, operation: Operation): RequestBody | undefined {
  const checked = route.schema?.body;
  const shown = operation.body?.content['application/json']?.schema;
  if (checked !== undefined && checked !== shown) {
    throw new Error(`${operation.id} documents another body than its route takes`);
  }
  return operation.body;
}

function parametersOf(route: RouteOptions, operation: Operation, schemas: Schemas): ParameterObject[] {
  const { params, querystring } = route.schema ?? {};
  return [
    ...parametersIn('path', params, operation, schemas),
    ...parametersIn('query', querystring, operation, schemas),
    ...(route.config?.auth === 'campaign' ? [ACTING_USER] : []),
    ...(route.config?.idempotent === undefined ? [] : [IDEMPOTENCY_KEY]),
  ];
}

function parametersIn(
  where: 'path' | 'query',
  schema: unknown,
  operation: Operation,
  schemas: Schemas,
): ParameterObject[] {
  if (!(schema instanceof z.ZodType)) return [];
  const { properties = {}, required = [] } = schemas.inline(schema, 'input');
  return Object.entries(properties).map(([name, { description, ...property }]) => ({
    name,
    in: where,
    required: required.includes(name),
    ...(description === undefined ? {} : { description }),
    schema: property,
    ...(operation.parameters?.[name] === undefined
      ? {}
      : { example: typed(operation.parameters[name], property) }),
  }));
}

const typed = (value: string, { type }: JsonSchema): unknown =>
  type === 'integer' || type === 'number' ? Number(value) : value;

function requestBody({ optional, content }: RequestBody, schemas: Schemas) {
  return {
    required: !optional,
    content: Object.fromEntries(
      Object.entries(content).map(([type, { schema, shown = schema, examples }]) => [
        type,
        {
          schema: schemas.of(shown, 'input'),
          examples: Object.fromEntries(
            Object.entries(examples).map(([name, value]) => [name, { value: asJson(value) }]),
          ),
        },
      ]),
    ),
  };
}

function success(answer: AnswerDoc, schemas: Schemas, idempotent: boolean): ResponseObject {
  const told = Object.entries(answer.headers ?? {}).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  return {
    description: answer.description,
    headers: {
      ...REQUEST_ID,
      ...(idempotent ? { 'idempotent-replay': { $ref: '#/components/headers/IdempotentReplay' } } : {}),
      ...Object.fromEntries(told),
    },
    content: Object.fromEntries(
      Object.entries(answer.content).map(([type, { schema, example }]) => [
        type,
        { schema: schemas.of(schema, 'output'), example: asJson(example) },
      ]),
    ),
  };
}

/** Removes undefined members. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Operations for people only take no token. */
function securityOf({ config }: RouteOptions, { role, scopes }: Access): Record<string, []>[] {
  if (config?.oauth) return [{ client: [] }];
  return role && !scopes ? SECURITY.session : SECURITY[config?.auth ?? 'open'];
}

function needsOf({ more, ...needs }: Access): string[] {
  const first = inWords(needs);
  if (first === '') return [];
  return [`Needs ${first}.${more ? ` Where ${more.when}: ${inWords(more)}.` : ''}`];
}

const inWords = ({ role, scopes = [] }: Needs): string =>
  [
    ...(role ? [`the role \`${role}\``] : []),
    ...(scopes.length > 0 ? [`the scope ${scopes.map((scope) => `\`${scope}\``).join(' and ')}`] : []),
  ].join(', or ');
