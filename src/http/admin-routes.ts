import { answer } from '../contracts/common';
import { routes, routesBody } from '../contracts/routes';
import type { Routes } from '../messaging/carriers/routes';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import type { App } from './request/routing';

/** By which account messages leave, as one list that is replaced as a whole (api.md 15). */
export function adminRouteRoutes(routes: Routes): (app: App) => void {
  const config = { auth: 'session' } as const;
  return (app) => {
    app.get('/api/admin/routes', { config, schema: { operation: getRoutes } }, async () =>
      answer(200, 'Routes', { routes: await routes.read() }),
    );

    app.put(
      '/api/admin/routes',
      { config, schema: { operation: putRoutes, body: routesBody } },
      async ({ body }) => answer(200, 'Routes in force', { routes: await routes.put(body.routes) }),
    );
  };
}

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
