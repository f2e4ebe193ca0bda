/** Proves that a durable send which is canceled before it leaves gives its place among a contact's messages back. */

import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { reserveContact } from '../../../src/campaigns/policy/contact-caps';
import { createPolicies } from '../../../src/campaigns/policy/policy';
import { claimSend, recordSend } from '../../../src/campaigns/sends/claim-sends';
import { createDurableSends, type DurableSends } from '../../../src/campaigns/sends/durable-sends';
import { durableSendBody } from '../../../src/contracts/durable-sends';
import { NO_POLICY } from '../../../src/domain/policy';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

const TO = '+12025550190';

describeWithDatabase('a durable send that is canceled', (database) => {
  let db: Kysely<CampaignTables>;
  let sends: DurableSends;
  let workspaceId: string;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    const launcher = { launchSend: async () => undefined, wakeSend: async () => undefined };
    sends = createDurableSends({ db, launcher, log: createLog('silent') });
  });
  beforeEach(async () => {
    workspaceId = newId('wsp');
    const caps = [{ channels: ['sms' as const], max: 1, days: 7 }];
    await createPolicies({ db }).replace(workspaceId, { ...NO_POLICY, caps });
  });

  /** Canceled while a request of it may be with the service. */
  async function canceled(): Promise<string> {
    const of = { uid: newId('uid'), channel: 'sms', to: TO, from: '12345', 'template-id': 'tpl_1' };
    const { id } = await sends.create(workspaceId, newId('snd'), durableSendBody.parse(of));
    expect((await claimSend(db, id, true))?.kind).toBe('send');
    await sends.cancel(workspaceId, id);
    return id;
  }

  const hasRoom = async () => {
    const message = { workspaceId, channel: 'sms' as const, address: TO, uid: newId('uid') };
    return (await reserveContact(db, { ...message, class: 'marketing' })).kind === 'go';
  };

  test('and that the service never had, or has called back, counts towards no cap', async () => {
    const id = await canceled();
    expect(await hasRoom()).toBe(false);
    const claim = await claimSend(db, id, true);
    if (claim?.kind !== 'cancel') throw new Error('not to be called back');
    await recordSend(db, claim, { kind: 'end', state: 'canceled', attempted: false });
    expect(await hasRoom()).toBe(true);
  });

  test('and that may have left counts', async () => {
    const id = await canceled();
    const claim = await claimSend(db, id, true);
    if (claim?.kind !== 'cancel') throw new Error('not to be called back');
    await recordSend(db, claim, { kind: 'late' });
    expect(await hasRoom()).toBe(false);
  });
});
