import { workspaceBody } from '../../contracts/admin';
import type { Identity } from '../../messaging/access/identity';
import { generatorOf } from '../idempotency';
import { createWorkspace } from '../operations/admin';
import type { App } from '../routing';

/** New customers of the installation; only an owner creates them (api.md 11). */
export function adminWorkspaceRoutes(identity: Pick<Identity, 'createWorkspace'>): (app: App) => void {
  return (app) => {
    app.post(
      '/api/admin/workspaces',
      {
        config: { auth: 'session', idempotent: 'secret' },
        schema: { operation: createWorkspace, body: workspaceBody },
      },
      async (request, reply) => {
        const made = await identity.createWorkspace(request.body, generatorOf(request));
        return reply
          .code(201)
          .header('cache-control', 'no-store')
          .send({ success: true, ...made });
      },
    );
  };
}
