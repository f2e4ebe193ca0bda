import { answer, idParams } from '../../contracts/common';
import { routesBody } from '../../contracts/routes';
import { senderBody } from '../../contracts/senders';
import type { RegisteredSender } from '../../domain/registered-sender';
import type { Routes } from '../../messaging/carriers/routes';
import type { RegisteredSenders } from '../../messaging/senders/registered-senders';
import { generatorOf } from '../idempotency';
import { deleteSender, getRoutes, listSenders, putRoutes, registerSender } from '../operations/carriers';
import type { App } from '../routing';

/** By which account messages leave, as one list that is replaced as a whole (api.md 15). */
export function adminRouteRoutes(routes: Routes): (app: App) => void {
  const config = { auth: 'owner' } as const;
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

/** Senders that belong to workspaces: the installation's, so that only an owner sees and changes them (api.md 15). */
export function adminSenderRoutes(
  senders: Pick<RegisteredSenders, 'list' | 'create' | 'remove'>,
): (app: App) => void {
  const config = { auth: 'owner' } as const;
  return (app) => {
    app.get('/api/admin/senders', { config, schema: { operation: listSenders } }, async () =>
      answer(200, 'Senders', (await senders.list()).map(present)),
    );

    app.post(
      '/api/admin/senders',
      { config: { ...config, idempotent: true }, schema: { operation: registerSender, body: senderBody } },
      async (request, reply) => {
        const made = await senders.create(request.body, generatorOf(request));
        return reply.code(201).send(answer(201, 'Sender registered', present(made)));
      },
    );

    app.delete(
      '/api/admin/senders/:id',
      { config, schema: { operation: deleteSender, params: idParams } },
      async ({ params }) => {
        await senders.remove(params.id);
        return answer(200, 'Sender deleted', { id: params.id });
      },
    );
  };
}

const present = ({ dkim, ...sender }: RegisteredSender) => ({ ...sender, ...(dkim ? { dkim } : {}) });
