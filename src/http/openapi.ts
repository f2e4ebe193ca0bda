import type { RouteOptions } from 'fastify';
import { z } from 'zod';
import { LIMITS } from '../domain/limits';
import { errorAnswers } from './openapi-errors';
import { createSchemas, type JsonSchema, type Schemas } from './openapi-schemas';
import type { AnswerDoc, Operation, RequestBody } from './operation';
import { TAGS } from './operation';

/**
 * The OpenAPI 3.1 document of a server's routes. Parameters and bodies come from the zod schemas by which
 * requests are judged, callers and idempotency from each route's `config`, everything else from its
 * `schema.operation`. A route without an operation has no place here; a test looks for such routes.
 */
export function openApiDocument(routes: readonly RouteOptions[]): OpenApiDocument {
  const schemas = createSchemas();
  const paths: OpenApiDocument['paths'] = {};
  for (const route of routes) {
    const operation = route.schema?.operation;
    if (!operation) continue;
    for (const method of [route.method].flat()) {
      // The framework answers HEAD wherever there is a GET.
      if (method === 'HEAD') continue;
      const path = documentedPath(route.url);
      paths[path] = { ...paths[path], [method.toLowerCase()]: describe(route, operation, schemas) };
    }
  }
  return {
    openapi: '3.1.1',
    info: {
      title: 'Fanfare',
      version: '0.1.0',
      summary: 'Durable multichannel campaigns: email, SMS and voice.',
      description: INTRODUCTION,
    },
    // Whatever address this document was read from.
    servers: [{ url: '/' }],
    tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: schemas.components(), securitySchemes: SECURITY_SCHEMES, headers: HEADERS },
  };
}

export interface OpenApiDocument {
  openapi: string;
  info: Record<string, string>;
  servers: { url: string }[];
  tags: { name: string; description: string }[];
  paths: Record<string, Record<string, OperationObject>>;
  components: Record<'schemas' | 'securitySchemes' | 'headers', Record<string, unknown>>;
}

export interface OperationObject {
  operationId: string;
  tags: string[];
  summary: string;
  description?: string;
  parameters?: ParameterObject[];
  requestBody?: { required: boolean; content: Record<string, MediaObject> };
  responses: Record<string, ResponseObject>;
  security: Record<string, []>[];
}

interface ParameterObject {
  name: string;
  in: 'path' | 'query' | 'header';
  required: boolean;
  description?: string;
  schema: JsonSchema;
  example?: unknown;
}

export interface MediaObject {
  schema: JsonSchema;
  example?: unknown;
  examples?: Record<string, { value: unknown }>;
}

export interface ResponseObject {
  description: string;
  headers: Record<string, unknown>;
  content?: Record<string, MediaObject>;
}

const INTRODUCTION = `Answers beyond the service's specification are \`{ result, status, message, data }\`; lists by page add \`pagination\`, lists by cursor \`next\`, which goes back as \`cursor\` and is null at the end. Times are ISO 8601 in UTC with milliseconds. Ids are opaque and sort by creation.

Errors are \`application/problem+json\` (RFC 9457). \`code\` says what happened and never changes its meaning ([all codes](/docs/errors)); \`errors\` lists every finding about the request at once. Unknown members of a request are ignored where the specification has the object, and refused with 422 elsewhere.

Where an \`Idempotency-Key\` is taken, repeating a call with the same key and payload gives the first answer again, with \`idempotent-replay: true\`; with another payload it is 422 \`idempotency_key_reused\`, and while the first call runs 409 \`idempotency_in_progress\`. Keys are kept for at least a day. Use a random one for each thing that you create.`;

/** `/api/x/:id` as the document writes it. */
export const documentedPath = (url: string): string =>
  url.replace(/(?<=.)\/$/, '').replace(/:([A-Za-z0-9_]+)/g, '{$1}');

function describe(route: RouteOptions, operation: Operation, schemas: Schemas): OperationObject {
  const body = bodyOf(route, operation);
  const parameters = parametersOf(route, operation, schemas);
  return {
    operationId: operation.id,
    tags: [operation.tag],
    summary: operation.summary,
    ...(operation.description === undefined ? {} : { description: operation.description }),
    security: securityOf(route),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: requestBody(body, schemas) }),
    responses: {
      ...Object.fromEntries(
        Object.entries(operation.answers).map(([status, answer]) => [
          status,
          success(answer, schemas, route.config?.idempotent !== undefined),
        ]),
      ),
      ...errorAnswers(route, operation, schemas),
    },
  };
}

/** What a route checks itself has to be what its operation shows. */
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

/** Members that are undefined are not there. */
const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const BEARER_OR_COOKIE: Record<string, []>[] = [{ bearer: [] }, { session: [] }];
const SECURITY: Record<string, Record<string, []>[]> = {
  open: [],
  app: BEARER_OR_COOKIE,
  campaign: BEARER_OR_COOKIE,
  send: [{ apiKey: [], bearer: [] }],
  session: [{ session: [] }],
  admin: [{ session: [] }],
  owner: [{ session: [] }],
};

function securityOf({ config }: RouteOptions): Record<string, []>[] {
  return config?.oauth ? [{ client: [] }] : (SECURITY[config?.auth ?? ''] ?? []);
}

const SECURITY_SCHEMES = {
  client: { type: 'http', scheme: 'basic', description: 'Client id and client secret.' },
  bearer: { type: 'http', scheme: 'bearer', description: 'An access token of the token endpoint.' },
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'x-api-key',
    description: 'Of the same workspace as the token.',
  },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'session_token',
    description: 'Set by logging in. To change anything, a browser must send it from our own pages.',
  },
};

const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

const HEADERS = {
  RequestId: {
    description: 'The one that came with the request, if it was a sane one, else one made for it.',
    schema: { type: 'string', pattern: '^[A-Za-z0-9._-]{1,64}$' },
  },
  IdempotentReplay: {
    description: 'The first answer to this Idempotency-Key, once more.',
    schema: { type: 'string', const: 'true' },
  },
  RetryAfter: { description: 'Seconds.', schema: { type: 'integer', minimum: 0 } },
  WwwAuthenticate: {
    description: 'What kind of credentials is missing or refused.',
    schema: { type: 'string' },
  },
};

const ACTING_USER: ParameterObject = {
  name: 'x-user-id',
  in: 'header',
  required: false,
  description:
    'Who acts. Required with a session cookie, and then the user of the session; with a Bearer token it is recorded.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,64}$' },
};

const IDEMPOTENCY_KEY: ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Names this call, so that repeating it creates nothing twice.',
  schema: { type: 'string', pattern: `^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyChars}}$` },
  example: '6f0c9a52-3f4e-4c0b-9d59-2f6f3a1c7e80',
};
