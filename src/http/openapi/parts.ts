import { LIMITS } from '../../domain/limits';
import type { AuthKind } from '../request/caller';
import type { ParameterObject } from './types';

/** Parts that every operation of the API's document refers to. */
export const INTRODUCTION = `Answers beyond the service's specification are \`{ result, status, message, data }\`; lists by page add \`pagination\`, lists by cursor \`next\`, which goes back as \`cursor\` and is null at the end. Times are ISO 8601 in UTC with milliseconds. Ids are opaque and sort by creation.

Errors are \`application/problem+json\` (RFC 9457). \`code\` says what happened and never changes its meaning ([all codes](/docs/errors)); \`errors\` lists every finding about the request at once. Unknown members of a request are ignored where the specification has the object, and refused with 422 elsewhere.

Where an \`Idempotency-Key\` is taken, repeating a call with the same key and payload gives the first answer again, with \`idempotent-replay: true\`; with another payload it is 422 \`idempotency_key_reused\`, and while the first call runs 409 \`idempotency_in_progress\`. Keys are kept for at least a day. Use a random one for each thing that you create or change.`;

const BEARER_OR_COOKIE: Record<string, []>[] = [{ bearer: [] }, { session: [] }];
/** By the kind of callers that a route admits: any one of these. */
export const SECURITY: Record<AuthKind, Record<string, []>[]> = {
  open: [],
  app: BEARER_OR_COOKIE,
  campaign: BEARER_OR_COOKIE,
  send: [{ apiKey: [], bearer: [] }],
  session: [{ session: [] }],
  // Or no credentials, on the same machine.
  metrics: [{ bearer: [] }, {}],
};

export const SECURITY_SCHEMES = {
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

export const REQUEST_ID = { 'x-request-id': { $ref: '#/components/headers/RequestId' } };

export const HEADERS = {
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

export const ACTING_USER: ParameterObject = {
  name: 'x-user-id',
  in: 'header',
  required: false,
  description:
    'Who acts. Required with a session cookie, and then the user of the session; with a Bearer token it is recorded.',
  schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,64}$' },
};

export const IDEMPOTENCY_KEY: ParameterObject = {
  name: 'Idempotency-Key',
  in: 'header',
  required: false,
  description: 'Names this call, so that repeating it does nothing twice.',
  schema: { type: 'string', pattern: `^[\\x20-\\x7e]{1,${LIMITS.idempotencyKeyChars}}$` },
  example: '6f0c9a52-3f4e-4c0b-9d59-2f6f3a1c7e80',
};
