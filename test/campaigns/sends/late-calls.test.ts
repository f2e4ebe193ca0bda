import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { createDurableSends } from '../../../src/campaigns/sends/durable-sends';
import { durableSendBody } from '../../../src/contracts/durable-sends';
import { sendMessageUid } from '../../../src/domain/ids';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('a durable call that ended as unknown, and was taken by a machine', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test.each([
    ['hangup', 'machine_end_beep', 'undelivered', 'machine'],
    ['leave_message', 'machine_start', 'undelivered', 'machine'],
    ['leave_message', 'machine_end_beep', 'delivered', 'voicemail_left'],
    [undefined, 'machine_start', 'delivered', 'machine'],
  ])('with machine %p, of which %s is learned, is %s', async (machine, answeredBy, state, outcome) => {
    const unused = async () => undefined;
    const launcher = { launchSend: unused, wakeSend: unused };
    const sends = createDurableSends({ db, launcher, log: createLog('silent') });
    const workspaceId = newId('wsp');
    const { id } = await sends.create(
      workspaceId,
      newId('snd'),
      durableSendBody.parse({
        ...{ channel: 'voice', uid: newId('uid'), to: '+12025550190', from: '+12025550100' },
        ...{ 'template-id': 'tpl_1', params: {}, voice: { machine } },
      }),
    );
    await sql`
      update durable_sends set state = 'unknown', ended = 'unknown', attempt = 1, finished_at = now() where id = ${id}`.execute(
      db,
    );
    const cursor = await readCursor(db, workspaceId);
    await applyEvents(db, workspaceId, cursor, 'next', [
      {
        ...{ seq: 1, at: new Date().toISOString(), uid: sendMessageUid(id, 1), id: newId('msg') },
        ...{ channel: 'voice', type: 'completed', state: 'delivered', data: { answeredBy } },
      },
    ]);
    expect(await sends.read(workspaceId, id)).toMatchObject({ state, outcome });
  });
});
