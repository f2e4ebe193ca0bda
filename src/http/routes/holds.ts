import { answer } from '../../contracts/common';
import { holdKey } from '../../contracts/send';
import type { Delivery } from '../../messaging/delivery';
import { callerOf } from '../caller';
import { hold, release } from '../operations/messages';
import type { App } from '../routing';

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
