import { answer } from '../contracts/common';
import { held, holdKey } from '../contracts/messages';
import type { Delivery } from '../messaging/delivery';
import { answered } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

/** Holds and releases the messages of a tag (api.md 4). Repeating either call changes nothing. */
export function holdRoutes(delivery: Pick<Delivery, 'hold' | 'release'>): (app: App) => void {
  return (app) => {
    const config = { auth: 'send' } as const;
    app.put('/holds/:campaign', { config, schema: { operation: hold, params: holdKey } }, async (request) => {
      const { campaign } = request.params;
      await delivery.hold(callerOf(request).workspaceId, campaign);
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

const hold: Operation = {
  ...HOLD,
  id: 'holdMessages',
  access: { scopes: ['send'] },
  bound: 'sending',
  tag: 'Holds',
  summary: 'Hold messages back',
  description:
    'Within a second no message with this tag in its `campaign` is handed to a provider. Messages go on being accepted and keep their place; those that are with a provider already stay there. Repeating it changes nothing.',
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
