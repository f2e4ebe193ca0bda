import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyTypeProvider,
  RawServerDefault,
  RouteOptions,
} from 'fastify';
import type { z } from 'zod';

/**
 * A route is `app.post(path, { config: { auth }, schema: { body, querystring, params } }, handler)` with zod
 * schemas from src/contracts. The handler gets parsed and typed values, and throws DomainError.
 */
interface ZodTypeProvider extends FastifyTypeProvider {
  validator: this['schema'] extends z.ZodType ? z.output<this['schema']> : unknown;
  serializer: unknown;
}

export type App = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** Every route of a server, in the order of registration; complete when the server is ready. */
export type KnownRoutes = readonly RouteOptions[];
