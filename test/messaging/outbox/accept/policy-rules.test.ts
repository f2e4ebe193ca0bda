import type { WorkspacePolicy } from '../../../../src/domain/policy';
import { NO_POLICY } from '../../../../src/domain/policy';
import type { Storage } from '../../../../src/storage/storage';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../../outbox-rig';

const TEXT = 'Reply STOP to opt out';

describeWithDatabase('the policy where messages are accepted', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let policy: WorkspacePolicy;
  const open: TestProcess[] = [];

  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
    policy = { ...NO_POLICY, smsOptOutText: { text: TEXT, onlyFirst: true } };
    open.length = 0;
    for (let i = 0; i < 2; i++) open.push(await rig.process({}, { policyOf: async () => policy }));
  });
  afterEach(() => rig.stop());

  const process = (number = 0) => open[number] as TestProcess;
  const accept = (message: ReturnType<OutboxRig['sms']>) =>
    process().delivery.accept(rig.workspaceId, message);
  /** The texts that were handed over, by uid. */
  const texts = async (count: number) => {
    await until(`${count} are handed over`, async () => handOvers().length >= count);
    return Object.fromEntries(handOvers().map(({ uid, text }) => [uid, text]));
  };
  const handOvers = () => open.flatMap(({ sms }) => sms.taken);
  const isEnded = async (count: number) =>
    Object.entries(await texts(count))
      .filter(([, text]) => text?.endsWith(TEXT))
      .map(([uid]) => uid);

  test('the first SMS from a sender to a number tells how to opt out, and only that one', async () => {
    const first = await accept(rig.sms('m1'));
    expect(first).toMatchObject({ segments: 1 });
    await accept(rig.sms('m2'));
    await accept(rig.sms('m3', { from: '54321' }));
    await accept(rig.sms('m4', { to: '+12025550124' }));
    await accept(rig.sms('m5', { to: '+12025550125', class: 'transactional' }));
    expect(await texts(5)).toEqual({
      m1: `Hello Ada\n${TEXT}`,
      m2: 'Hello Ada',
      m3: `Hello Ada\n${TEXT}`,
      m4: `Hello Ada\n${TEXT}`,
      m5: 'Hello Ada',
    });
  });

  test('of many messages to a number at once in two processes exactly one tells it', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => process(i % 2).delivery.accept(rig.workspaceId, rig.sms(`m${i}`))),
    );
    expect(await isEnded(20)).toHaveLength(1);
  });

  test('segments are counted with the text', async () => {
    const long = { NAME: 'x'.repeat(150) };
    expect(await accept(rig.sms('m1', { params: long }))).toMatchObject({ segments: 2 });
    expect(await accept(rig.sms('m2', { params: long }))).toMatchObject({ segments: 1 });
  });

  test('the next message tells it when the one that was to was never sent', async () => {
    const later = new Date(Date.now() + 3_600_000).toISOString();
    await accept(rig.sms('m1', { sendAt: later }));
    await process().delivery.cancel(rig.workspaceId, 'm1');
    await accept(rig.sms('m2'));
    await accept(rig.sms('m3'));
    expect(await isEnded(2)).toEqual(['m2']);
  });

  test('a repeated request neither tells it again nor uses it up', async () => {
    policy = NO_POLICY;
    await accept(rig.sms('m1'));
    policy = { ...NO_POLICY, smsOptOutText: { text: TEXT, onlyFirst: true } };
    expect(await accept(rig.sms('m1'))).toMatchObject({ duplicate: true });
    await accept(rig.sms('m2'));
    expect(await isEnded(2)).toEqual(['m2']);
  });

  test('every SMS tells it when the policy says so', async () => {
    policy = { ...NO_POLICY, smsOptOutText: { text: TEXT, onlyFirst: false } };
    await accept(rig.sms('m1'));
    await accept(rig.sms('m2'));
    expect((await isEnded(2)).sort()).toEqual(['m1', 'm2']);
  });

  test('other senders than those that are allowed are refused, except for what was accepted before', async () => {
    const known = rig.sms('m1');
    await accept(known);
    policy = { ...NO_POLICY, allowedSenders: { sms: ['54321'], email: ['@example.com'] } };
    await expect(accept(rig.sms('m2'))).rejects.toMatchObject({
      code: 'sender_not_allowed',
      errors: [{ path: 'from', code: 'sender_not_allowed' }],
    });
    expect(await accept(known)).toMatchObject({ uid: 'm1', duplicate: true });
    expect(await accept(rig.sms('m3', { from: '54321' }))).toMatchObject({ state: 'accepted' });
    expect(await accept(rig.email('e1', { from: '"Us" <US@Example.com>' }))).toMatchObject({
      state: 'accepted',
    });
    await expect(accept(rig.email('e2', { from: 'us@other.example' }))).rejects.toMatchObject({
      code: 'sender_not_allowed',
    });
  });
});
