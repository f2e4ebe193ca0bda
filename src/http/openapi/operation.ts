import type { z } from 'zod';
import type { ErrorCode } from '../../domain/errors';
import type { Access } from '../request/access';
import type { Bound } from '../request/request-bounds';

/**
 * A route's documentation, in addition to its schemas and `config` (openapi.ts). It stands in the route's
 * `schema: { operation }`, which no request reads, so that it costs no time.
 *
 * The examples are real. test/http/openapi.test.ts sends each of them, in a story where the named things exist,
 * and compares the answer with `answers`.
 */
export interface Operation {
  /** `operationId`: the function's name in generated clients. */
  id: string;
  /** Whose calls are taken; docs/access.md has the table. */
  access: Access;
  /** Which bound on a workspace's requests it counts for; default `requests`. */
  bound?: Bound;
  tag: TagName;
  summary: string;
  /** What it guarantees, in which order answers come, what repeating it does. */
  description: string;
  /** Example values of parameters in path and query. */
  parameters?: Record<string, string>;
  body?: RequestBody;
  /** Successful answers, by status. */
  answers: Record<number, AnswerDoc>;
  /** In addition to those that follow from the route's schemas and callers (openapi-errors.ts). */
  errors?: readonly ErrorCode[];
}

export interface RequestBody {
  /** Without a body, the request is complete. */
  optional?: true;
  /** By content type. Examples by name. */
  content: Record<string, RequestContent>;
}

export interface RequestContent {
  schema: z.ZodType;
  /** Schema for readers, where `schema` is of an envelope whose contents are checked one by one. */
  shown?: z.ZodType;
  examples: Record<string, unknown>;
}

export interface AnswerDoc {
  description: string;
  /** By content type; `schema` is of the JSON, or of the text. */
  content: Record<string, { schema: z.ZodType; example: unknown }>;
  /** In addition to the headers of every answer: name and meaning. */
  headers?: Record<string, string>;
}

export const TAGS = {
  Authentication: 'Tokens for backends, sessions for browsers.',
  Sending:
    'One message to one recipient, or many at once. The caller chooses the `uid` of each, and that makes sending idempotent: the same `uid` with the same content is the same message, for as long as its record lives.',
  Messages: 'What became of a message, and calling it back.',
  Events: 'Everything that happens to messages, in one total order.',
  Holds: 'Holding messages back by tag, without losing one.',
  Templates: 'Texts with placeholders, in versions that never change.',
  'Contact lists': 'Whom campaigns are for.',
  Campaigns: 'One or more channels, a template for each, and lists of contacts.',
  Stop: 'Stopping all that a workspace sends, at once, and letting it go on.',
  Policy: 'What a workspace holds back in all that it sends, and what became of one contact.',
  'Durable sends': 'One message each, followed by a workflow of its own until its outcome is known.',
  Suppression: 'Whom a workspace does not write to.',
  'Sender limits': 'How fast single senders may be used.',
  Webhooks: 'Being told what happens, instead of asking.',
  'Provider callbacks': 'What carriers report. Not for callers of the API.',
  Carriers: 'Accounts at carriers, and by which of them messages leave. Only for owners.',
  Administration: 'Users, clients and keys of a workspace.',
  Operation: 'Health of the process.',
  Documentation: 'This document and its pages.',
} as const;
type TagName = keyof typeof TAGS;

declare module 'fastify' {
  interface FastifySchema {
    operation?: Operation;
  }
}

/** A JSON body, whose examples the compiler checks against its schema. */
export function jsonBody<Schema extends z.ZodType>(
  schema: Schema,
  examples: Record<string, z.input<Schema>>,
  shown?: z.ZodType,
): RequestBody {
  return { content: { 'application/json': { schema, examples, ...(shown ? { shown } : {}) } } };
}

/** A JSON answer. */
export function json<Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  example: z.output<Schema>,
  headers?: Record<string, string>,
): AnswerDoc {
  return {
    description,
    content: { 'application/json': { schema, example } },
    ...(headers ? { headers } : {}),
  };
}
