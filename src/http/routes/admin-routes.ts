import { answer } from '../../contracts/common';
import { routesBody } from '../../contracts/routes';
import type { Routes } from '../../messaging/carriers/routes';
import { getRoutes, putRoutes } from '../operations/carriers';
import type { App } from '../routing';

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
