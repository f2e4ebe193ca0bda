import type { Stops } from '../../campaigns/stops/stops';
import { answer } from '../../contracts/common';
import { messageKey, messageList, storyQuery } from '../../contracts/send';
import type { Delivery } from '../../messaging/delivery';
import { callerOf } from '../caller';
import { cancelMessage, listMessages, readStories, trackMessage } from '../operations/messages';
import type { App } from '../routing';

/** Following and canceling messages (api.md 4, Tracking). */
export function messageRoutes(
  delivery: Pick<Delivery, 'track' | 'stories' | 'list' | 'cancel'>,
  stops: Pick<Stops, 'read'>,
): (app: App) => void {
  const config = { auth: 'send' } as const;

  return (app) => {
    app.get(
      '/messages',
      { config, schema: { operation: listMessages, querystring: messageList } },
      async (request) => {
        const { workspaceId } = callerOf(request);
        const { messages, next } = await delivery.list(workspaceId, request.query);
        return { ...answer(200, 'Messages', messages), next, stopped: await stops.read(workspaceId) };
      },
    );

    const telling = { operation: readStories, querystring: storyQuery };
    app.get('/stories', { config, schema: telling }, async (request) =>
      answer(200, 'Stories', await delivery.stories(callerOf(request).workspaceId, request.query.uids)),
    );

    const one = { params: messageKey };
    app.get('/messages/:uid', { config, schema: { operation: trackMessage, ...one } }, async (request) => {
      const found = await delivery.track(callerOf(request).workspaceId, request.params.uid);
      return answer(200, 'Message', found);
    });

    app.delete(
      '/messages/:uid',
      { config, schema: { operation: cancelMessage, ...one } },
      async (request) => {
        const canceled = await delivery.cancel(callerOf(request).workspaceId, request.params.uid);
        return answer(200, 'Message canceled', canceled);
      },
    );
  };
}
