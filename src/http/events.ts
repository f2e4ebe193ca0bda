import { answer } from '../contracts/common';
import { eventFeed, events } from '../contracts/events';
import type { Delivery } from '../messaging/delivery';
import { CANCELED } from './messages';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

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

const readEvents: Operation = {
  id: 'readEvents',
  access: { scopes: ['read'] },
  bound: 'streams',
  tag: 'Events',
  summary: 'Read the event feed',
  description: `Every event of the workspace's messages, in one total order. \`next\` is the cursor of what comes after this page: pass it back as \`after\`. Keep it where you keep what you made of the events, and move both together; then none is missed and none is taken twice. Without \`after\` the feed begins at its beginning. \`next\` is never null: when nothing has happened since, \`data\` is empty and \`next\` what you sent. \`wait\` holds an answer that would be empty back for so many seconds, until something happens. A cursor so old that the events after it are deleted is 410 \`cursor_expired\`.`,
  parameters: { after: EXAMPLE.feedCursor, limit: '1000', wait: '0' },
  answers: {
    200: json('Events after the cursor.', events, {
      ...answered(200, 'Events', [CANCELED]),
      next: EXAMPLE.feedCursor,
    }),
  },
  errors: ['cursor_expired'],
};
