import { answer } from '../contracts/common';
import { routes, routesBody } from '../contracts/routes';
import type { NamesOfRoute, Routes } from '../messaging/carriers/routes';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import type { App } from './request/routing';
import { invalidRequest, problemsOf, withoutRepeats } from './request/validation';

/** By which account messages leave, as one list that is replaced as a whole (api.md 15). */
export function adminRouteRoutes(routes: Routes): (app: App) => void {
  const config = { auth: 'session' } as const;
  return (app) => {
    app.get('/api/admin/routes', { config, schema: { operation: getRoutes } }, async () =>
      answer(200, 'Routes', { routes: await routes.read() }),
    );

    app.put(
      '/api/admin/routes',
      { config, attachValidation: true, schema: { operation: putRoutes, body: routesBody } },
      async (request) => {
        const found = problemsOf(request);
        // Unknown names are reported together with what is malformed, so that one answer has every finding.
        if (found.length > 0)
          throw invalidRequest(
            withoutRepeats([...found, ...(await routes.unknownNames(namesIn(request.body)))]),
          );
        return answer(200, 'Routes in force', { routes: await routes.put(request.body.routes) });
      },
    );
  };
}

/** What a malformed list names; members of another form name nothing. */
function namesIn(body: unknown): NamesOfRoute[] {
  const { routes: list } = partsOf(body);
  return (Array.isArray(list) ? list : []).map((route: unknown) => {
    const { channel, workspace, accounts } = partsOf(route);
    return {
      channel: textOf(channel),
      workspace: textOf(workspace),
      accounts: (Array.isArray(accounts) ? accounts : []).map((one: unknown) => textOf(partsOf(one).account)),
    };
  });
}

const partsOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? { ...value } : {};
const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined);

const tag = 'Carriers';

const ROUTES = {
  routes: [
    { channel: 'sms' as const, toPrefix: '+44', accounts: [{ account: EXAMPLE.account }] },
    {
      channel: 'sms' as const,
      accounts: [
        { account: 'default-sms', weight: 3 },
        { account: EXAMPLE.account, weight: 1 },
      ],
      failover: true,
    },
  ],
};

const getRoutes: Operation = {
  id: 'getRoutes',
  access: { role: 'owner' },
  tag,
  summary: 'Read the routes',
  description: 'In the order in which they are matched; of a message the first that matches decides.',
  answers: { 200: json('In their order.', routes, answered(200, 'Routes', ROUTES)) },
};

const putRoutes: Operation = {
  id: 'putRoutes',
  access: { role: 'owner' },
  tag,
  summary: 'Replace the routes',
  description:
    'The first route that matches a message decides by which account it leaves; without one, its channel’s default account does. In force within 5 seconds on every process, also for messages that wait.',
  body: jsonBody(routesBody, { byCountry: ROUTES, none: { routes: [] } }),
  answers: { 200: json('In force.', routes, answered(200, 'Routes in force', ROUTES)) },
};
