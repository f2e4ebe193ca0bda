import { answer } from '../contracts/common';
import { held, holdKey, holdQuery } from '../contracts/messages';
import type { Delivery } from '../messaging/delivery';
import { answered } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

/** Holds and releases the messages of a tag (api.md 4). Repeating either call changes nothing. */
export function holdRoutes(delivery: Pick<Delivery, 'readHold' | 'hold' | 'release'>): (app: App) => void {
  return (app) => {
    const config = { auth: 'send' } as const;
    app.get('/holds/:campaign', { config, schema: { operation: read, params: holdKey } }, async (request) => {
      const { campaign } = request.params;
      const held = await delivery.readHold(callerOf(request).workspaceId, campaign);
      return answer(200, held ? 'Held' : 'Not held', { campaign, held });
    });

    const holding = { operation: hold, params: holdKey, querystring: holdQuery };
    app.put('/holds/:campaign', { config, schema: holding }, async (request) => {
      const { campaign } = request.params;
      await delivery.hold(callerOf(request).workspaceId, campaign, request.query.aside === 'true');
      return answer(200, 'Held', { campaign, held: true });
    });

    app.delete(
      '/holds/:campaign',
      { config, schema: { operation: release, params: holdKey } },
      async (request) => {
        const { campaign } = request.params;
        await delivery.release(callerOf(request).workspaceId, campaign);
        return answer(200, 'Released', { campaign, held: false });
      },
    );
  };
}

const HOLD = { parameters: { campaign: 'spring-sale' } };

const read: Operation = {
  ...HOLD,
  id: 'readHold',
  access: { scopes: ['read'] },
  bound: 'sending',
  tag: 'Holds',
  summary: 'Read whether messages are held back',
  description: 'A tag that was never held is not held.',
  answers: {
    200: json('Whether it is held.', held, answered(200, 'Held', { campaign: 'spring-sale', held: true })),
  },
};

const hold: Operation = {
  ...HOLD,
  id: 'holdMessages',
  access: { scopes: ['send'] },
  bound: 'sending',
  tag: 'Holds',
  summary: 'Hold messages back',
  description:
    'Within a second no message with this tag in its `campaign` is handed to a provider. Messages go on being accepted and keep their place; those that are with a provider already stay there. With `aside=true` they do not count towards the bound of the outbox, so that they leave room for others; once released they still take none from messages without this tag until they have left. Repeating it changes nothing.',
  answers: { 200: json('Held.', held, answered(200, 'Held', { campaign: 'spring-sale', held: true })) },
};

const release: Operation = {
  ...HOLD,
  id: 'releaseMessages',
  access: { scopes: ['send'] },
  bound: 'sending',
  tag: 'Holds',
  summary: 'Let held messages go on',
  description: 'In the order in which they were accepted. Repeating it changes nothing.',
  answers: {
    200: json('Released.', held, answered(200, 'Released', { campaign: 'spring-sale', held: false })),
  },
};
