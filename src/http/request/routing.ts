import type { IncomingMessage, ServerResponse } from 'node:http';
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  FastifyTypeProvider,
  RawServerDefault,
  RouteOptions,
} from 'fastify';
import type { z } from 'zod';
import { DomainError } from '../../domain/errors';

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

/** Collects the routes that are registered from now on. */
export function rememberRoutes(app: App): KnownRoutes {
  const routes: KnownRoutes[number][] = [];
  app.addHook('onRoute', (route) => {
    routes.push(route);
  });
  return routes;
}

/**
 * Adds hooks to one route while it is registered. A hook of the server is passed by every request, and has to look up its route,
 * which makes an object each time: a single send took 82 µs of HTTP with such hooks, and 70 without them.
 */
export function addRouteHooks(route: RouteOptions, added: RouteHooks): void {
  for (const [name, hook] of Object.entries(added)) {
    const own = route[name as keyof RouteHooks] ?? [];
    Object.assign(route, { [name]: [own, hook].flat() });
  }
}

type RouteHooks = Pick<RouteOptions, 'onRequest' | 'preSerialization' | 'onSend'>;

/** Answers 404 for an unknown path, and 405 with `Allow` for a path that takes other methods. */
export function answerUnknownPaths(app: App): void {
  const known = new Map<string, { pattern: RegExp; methods: Set<string> }>();

  app.addHook('onRoute', ({ url, method }) => {
    const entry = known.get(url) ?? { pattern: patternOf(url), methods: new Set<string>() };
    for (const one of [method].flat()) entry.methods.add(one);
    known.set(url, entry);
  });

  const pathOf = ({ url }: FastifyRequest) => (url.split('?')[0] as string).replace(/(?<=.)\/$/, '');
  const refuse = (request: FastifyRequest, reply: FastifyReply): never => {
    const path = pathOf(request);
    const methods = [known.get(path) ?? [...known.values()].filter(({ pattern }) => pattern.test(path))]
      .flat()
      .flatMap((k) => [...k.methods]);
    if (methods.length === 0) {
      throw new DomainError('not_found', 'There is nothing at this path; /openapi.json lists all of them');
    }
    const allowed = [...new Set(methods)].sort().join(', ');
    reply.header('allow', allowed);
    throw new DomainError(
      'method_not_allowed',
      `This path does not take ${request.method}; it takes ${allowed}`,
    );
  };
  app.setNotFoundHandler(refuse);
  // Before the body is read, because its problems do not matter without a route.
  app.addHook('onRequest', (request, reply, done) => {
    if (request.url === request.routeOptions.url) return done();
    // A fixed path is never another path's id: GET of a dry run is not an unknown campaign.
    const own = known.get(pathOf(request));
    if (!request.is404 && (!own || own.methods.has(request.method))) return done();
    try {
      refuse(request, reply);
    } catch (error) {
      done(error as Error);
    }
  });
}

/** `/api/x/:id.csv` and `/docs/*` as the router reads them. */
function patternOf(url: string): RegExp {
  const source = url
    .replace(/(?<=.)\/$/, '')
    .split(/(:[A-Za-z0-9_]+|\*)/)
    .map((part) =>
      part === '*' ? '.*' : part.startsWith(':') ? '[^/]+' : part.replace(/[.+?^${}()|[\]\\]/g, '\\$&'),
    )
    .join('');
  return new RegExp(`^${source}$`);
}
