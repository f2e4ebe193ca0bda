import { answer } from '../../contracts/common';
import { eventFeed } from '../../contracts/send';
import type { Delivery } from '../../messaging/delivery';
import { callerOf } from '../caller';
import { readEvents } from '../operations/messages';
import type { App } from '../routing';

/** The event feed of a workspace (api.md 4); send `next` back as `after`. */
export function eventRoutes(delivery: Pick<Delivery, 'readEvents'>): (app: App) => void {
  return (app) => {
    const options = {
      config: { auth: 'send' },
      schema: { operation: readEvents, querystring: eventFeed },
    } as const;
    app.get('/events', options, async (request, reply) => {
      const { after, limit, wait } = request.query;
      // Stop waiting when the caller disconnects.
      const left = new AbortController();
      reply.raw.once('close', () => left.abort());
      const { events, next } = await delivery.readEvents(callerOf(request).workspaceId, {
        after,
        limit,
        waitSeconds: wait,
        signal: left.signal,
      });
      return { ...answer(200, 'Events', events), next };
    });
  };
}
