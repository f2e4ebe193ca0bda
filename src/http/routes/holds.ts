import { answer } from '../../contracts/common';
import { holdKey } from '../../contracts/send';
import type { Delivery } from '../../messaging/delivery';
import { callerOf } from '../caller';
import type { App } from '../routing';

/** Holding back the messages of a tag (api.md 4). Repeating either call changes nothing. */
export function holdRoutes(delivery: Pick<Delivery, 'hold' | 'release'>): (app: App) => void {
  return (app) => {
    const options = { config: { auth: 'send' }, schema: { params: holdKey } } as const;
    app.put('/holds/:campaign', options, async (request) => {
      const { campaign } = request.params;
      await delivery.hold(callerOf(request).workspaceId, campaign);
      return answer(200, 'Held', { campaign, held: true });
    });

    app.delete('/holds/:campaign', options, async (request) => {
      const { campaign } = request.params;
      await delivery.release(callerOf(request).workspaceId, campaign);
      return answer(200, 'Released', { campaign, held: false });
    });
  };
}
