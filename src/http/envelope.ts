import type { FastifyReply } from 'fastify';

/** What lists carry beside their data: a page of so many, or the cursor of the next. */
type Position = { pagination: { page: number; limit: number; total: number } } | { next: string | null };

/** Answers in the form that all our additions share (api.md 1). */
export function sendData(
  reply: FastifyReply,
  status: 200 | 201 | 202,
  message: string,
  data: unknown,
  position?: Position,
): FastifyReply {
  return reply.code(status).send({ result: 'success', status, message, data, ...position });
}
