/** Proves that a callee who opts out is suppressed. */

import { LIMITS } from '../../../src/domain/limits';
import type { Receipt } from '../../../src/providers/provider';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

const NUMBER = '+12025550171';
const DOCUMENT = `<Response>
  <Gather numDigits="1" output="menu" optOutDigits="9"><Say>Hello {{NAME}}. Press 9 to be left alone.</Say></Gather>
  <Gather numDigits="1" output="age"><Say>How old?</Say></Gather>
</Response>`;

describeWithDatabase('a key by which somebody asks not to be called again', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  let template: string;
  beforeAll(async () => {
    rig = await createOutboxRig(await database.open());
    one = await rig.process();
    template = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body: DOCUMENT });
  });
  afterEach(async () => {
    await rig.db.deleteFrom('suppressions').where('workspace_id', '=', rig.workspaceId).execute();
  });
  afterAll(() => rig.stop());

  let calls = 0;
  async function called(templateId = template, params: Record<string, string> = { NAME: 'Ada' }) {
    calls += 1;
    const uid = `call-${calls}`;
    const message = rig.sms(uid, {
      ...{ channel: 'voice', to: NUMBER, from: '+12025550100' },
      ...{ 'template-id': templateId, params },
    });
    const { id } = await one.delivery.accept(rig.workspaceId, message);
    await until('it is handed over', async () => (await rig.states())[uid] === 'sent');
    const report = (...receipts: Omit<Receipt, 'id'>[]) =>
      one.voice.report(...receipts.map((receipt): Receipt => ({ id, ...receipt })));
    const events = async () => {
      const tracked = await one.delivery.track(rig.workspaceId, uid);
      return tracked.events.slice(2).map(({ type, data }) => ({ type, data }));
    };
    return { id, uid, report, events };
  }
  const suppressed = () =>
    rig.db
      .selectFrom('suppressions')
      .select(['address', 'channel', 'sender', 'reason', 'source'])
      .where('workspace_id', '=', rig.workspaceId)
      .execute();
  const BLOCK = [{ address: NUMBER, channel: 'voice', sender: '', reason: 'voice_opt_out', source: 'voice' }];

  test('need not be known where the carrier itself says that this is how the call ended', async () => {
    const { report } = await called();
    await report({ type: 'answered' }, { type: 'completed', data: { outcome: 'opted_out' } });
    expect(await suppressed()).toEqual(BLOCK);
  });

  test('suppresses the number with the receipt that reports it, and the call’s end reports it too', async () => {
    const { report, events } = await called();
    await report({ type: 'answered' }, { type: 'digits', data: { gather: 'menu', digits: '9' } });
    expect(await suppressed()).toEqual(BLOCK);
    await report({ type: 'completed', data: { answeredBy: 'human' } });
    expect(await events()).toEqual([
      { type: 'answered', data: undefined },
      { type: 'digits', data: { gather: 'menu', digits: '9', optedOut: true } },
      { type: 'completed', data: { answeredBy: 'human', optedOut: true } },
    ]);
    const next = await one.delivery.accept(rig.workspaceId, {
      ...rig.sms('next', { channel: 'voice', to: NUMBER, from: '+12025550199', 'template-id': template }),
    });
    expect(next.state).toBe('suppressed');
  });

  test('repeated changes nothing, even when the suppression was lifted since', async () => {
    const { report, events } = await called();
    const digits = { type: 'digits', data: { digits: '9' } } as const;
    await report(digits, digits);
    await report(digits);
    expect(await events()).toHaveLength(1);
    await rig.db.deleteFrom('suppressions').where('workspace_id', '=', rig.workspaceId).execute();
    await report(digits);
    expect(await suppressed()).toEqual([]);
  });

  test.each<[string, Omit<Receipt, 'id'>, boolean]>([
    ['without a word of which question it was', { type: 'digits', data: { digits: '9' } }, true],
    ['at the end of the call alone', { type: 'completed', data: { digits: 9 } }, true],
    ['as the carrier itself says', { type: 'completed', data: { optedOut: true } }, true],
    [
      'at a question that the document does not have',
      { type: 'digits', data: { digits: '9', gather: 'x' } },
      true,
    ],
    ['at another question', { type: 'digits', data: { digits: '9', gather: 'age' } }, false],
    [
      'at a question of another document',
      { type: 'digits', data: { digits: '9', gather: 'menu', document: 1 } },
      false,
    ],
    [
      'at the end of a call that other documents were run in',
      { type: 'completed', data: { digits: '9', documents: ['https://example.com/a'] } },
      false,
    ],
    ['as part of a number', { type: 'digits', data: { digits: '99', gather: 'menu' } }, false],
    ['which means something else', { type: 'digits', data: { digits: '1', gather: 'menu' } }, false],
    ['before it was pressed', { type: 'ringing', data: { digits: '9' } }, false],
  ])('%s: %j', async (_, receipt, isOptOut) => {
    const { report } = await called();
    await report(receipt);
    expect(await suppressed()).toEqual(isOptOut ? BLOCK : []);
  });

  test('counts when it comes before the hand-over is recorded, and out of order', async () => {
    const early = await called();
    await early.report(
      { type: 'completed', data: { answeredBy: 'human' } },
      { type: 'digits', data: { digits: '9' } },
    );
    expect(await suppressed()).toEqual(BLOCK);
    await rig.db.deleteFrom('suppressions').where('workspace_id', '=', rig.workspaceId).execute();
    let answer: () => void = () => undefined;
    one.voice.script = (message) =>
      new Promise((done) => {
        answer = () => done({ kind: 'accepted', providerId: `p:${message.id}` });
      });
    const waiting = called();
    await until('the carrier has it', () => one.voice.taken.at(-1)?.uid === `call-${calls}`);
    await one.voice.report({ id: one.voice.taken.at(-1)?.id, type: 'digits', data: { digits: '9' } });
    expect(await suppressed()).toEqual([]);
    one.voice.script = (message) => ({ kind: 'accepted', providerId: `p:${message.id}` });
    answer();
    await waiting;
    await until('it is suppressed', async () => (await suppressed()).length === 1);
  });

  test('is not lost in a receipt as large as may be', async () => {
    const { report } = await called();
    const data = { digits: '9', more: '' };
    data.more = 'x'.repeat(LIMITS.receiptDataChars - JSON.stringify(data).length);
    await report({ type: 'digits', data });
    expect(await suppressed()).toEqual(BLOCK);
  });

  test('may be one that only the message decides', async () => {
    const body = '<Response><Gather optOutDigits="{{KEY}}" output="q"/></Response>';
    const id = await addTemplate(rig.db, rig.workspaceId, { channel: 'voice', body });
    const { report } = await called(id, { KEY: '7' });
    await report({ type: 'digits', data: { digits: '8', gather: 'q' } });
    expect(await suppressed()).toEqual([]);
    await report({ type: 'digits', data: { digits: '7', gather: 'q' } });
    expect(await suppressed()).toEqual(BLOCK);
  });
});
