import type { Stops } from '../campaigns/stops/stops';
import { answer } from '../contracts/common';
import { begunStop, currentStop, endedStop, stopBody } from '../contracts/stop';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

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

const STOP = { since: EXAMPLE.at, by: EXAMPLE.client, reason: 'Wrong price in the spring sale' };

const beginStop: Operation = {
  id: 'beginStop',
  access: { role: 'sender', scopes: ['send'] },
  tag: 'Stop',
  summary: 'Stop all that the workspace sends',
  description:
    'Within a second nothing of this workspace is handed to any provider: campaigns, durable sends and single messages of either class. Only the confirmations of opt-outs still leave, and calls under way end by themselves. New messages are taken and wait, within the bound of the outbox; test sends are refused with 409 `stopped`. A message whose `expiresAt` passes meanwhile is reported as `expired`. A workspace that is stopped already keeps the time, the caller and the reason of its first stop.',
  body: jsonBody(stopBody, { stop: { reason: STOP.reason } }),
  answers: { 200: json('Stopped.', begunStop, answered(200, 'The workspace is stopped', STOP)) },
};

const readStop: Operation = {
  id: 'readStop',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Stop',
  summary: 'Whether the workspace is stopped',
  description:
    'Since when nothing of the workspace is handed to a provider, by whom and why. `data` is null while the workspace is not stopped.',
  answers: {
    200: json('The stop, or null.', currentStop, answered(200, 'The workspace is stopped', STOP)),
  },
};

const endStop: Operation = {
  id: 'endStop',
  access: { role: 'sender', scopes: ['send'] },
  tag: 'Stop',
  summary: 'End the stop',
  description:
    'All goes on where it stood, each campaign at its own pace. A campaign that was paused stays so. Harmless for a workspace that is not stopped.',
  answers: { 200: json('Not stopped.', endedStop, answered(200, 'The workspace is not stopped', null)) },
};
