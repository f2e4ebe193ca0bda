/** Proves that a durable send is answered while Temporal does not answer. */

import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createDurableSends } from '../../../src/campaigns/sends/durable-sends';
import { durableSendBody } from '../../../src/contracts/durable-sends';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('durable sends while Temporal is silent', (database) => {
  test('are answered within a second, also when they are canceled', async () => {
    let answer = () => {};
    const silence = new Promise<void>((done) => {
      answer = done;
    });
    const sends = createDurableSends({
      db: (await database.open()).tables<CampaignTables>(),
      launcher: { launchSend: () => silence, wakeSend: () => silence },
      log: createLog('silent'),
    });
    const message = { channel: 'sms', uid: 'one', to: '+12025550190', from: '12345', 'template-id': 'tpl_1' };
    const workspaceId = newId('ws');
    const begunAt = performance.now();
    const { id } = await sends.create(workspaceId, newId('snd'), durableSendBody.parse(message));
    await sends.cancel(workspaceId, id);
    expect(performance.now() - begunAt).toBeLessThan(1_000);
    answer();
  }, 10_000);
});
