import type { Stops } from '../../campaigns/stops/stops';
import { answer } from '../../contracts/common';
import { stopBody } from '../../contracts/stop';
import { callerOf } from '../caller';
import { beginStop, endStop, readStop } from '../operations/stop';
import type { App } from '../routing';

const config = { auth: 'campaign' } as const;

/** Stops everything that a workspace sends (api.md 19). Repeating any of these calls changes nothing. */
export function stopRoutes({ stops }: { stops: Stops }): (app: App) => void {
  return (app) => {
    app.get('/api/stop', { config, schema: { operation: readStop } }, async (request) => {
      const stop = await stops.read(callerOf(request).workspaceId);
      return answer(200, stop ? 'The workspace is stopped' : 'The workspace is not stopped', stop);
    });

    const beginning = { config, schema: { operation: beginStop, body: stopBody } };
    app.post('/api/stop', beginning, async (request) => {
      const { workspaceId, userId, clientId } = callerOf(request);
      const { reason } = request.body;
      const stop = await stops.begin(workspaceId, { by: userId ?? clientId, reason });
      return answer(200, 'The workspace is stopped', stop);
    });

    app.delete('/api/stop', { config, schema: { operation: endStop } }, async (request) => {
      await stops.end(callerOf(request).workspaceId);
      return answer(200, 'The workspace is not stopped', null);
    });
  };
}
