import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig } from '../outbox-rig';

const VOICE = { machine: 'hangup', ringTimeoutSeconds: 20, maxSeconds: 60 } as const;

describeWithDatabase('what the sender of a call asks for', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    rig = await createOutboxRig(storage);
  });
  afterEach(() => rig.stop());

  async function call(uid: string, more: Record<string, unknown> = {}) {
    const template = { channel: 'voice', body: '<Response><Say>Hello</Say></Response>' } as const;
    const id = await addTemplate(rig.db, rig.workspaceId, template);
    return rig.sms(uid, { channel: 'voice', from: '+12025550100', 'template-id': id, params: {}, ...more });
  }

  test('goes to the provider, also when the call was read back', async () => {
    const one = await rig.process();
    const accept = async (uid: string, more: Record<string, unknown>) =>
      one.delivery.accept(rig.workspaceId, await call(uid, more));
    await accept('now', { voice: VOICE });
    await accept('later', { voice: VOICE, sendAt: new Date(Date.now() + 300).toISOString() });
    await accept('plain', {});
    await until('all are handed over', async () => one.voice.taken.length === 3);
    const taken = Object.fromEntries(one.voice.taken.map(({ uid, voice }) => [uid, voice]));
    expect(taken).toEqual({ now: VOICE, later: VOICE, plain: undefined });
    expect((await one.delivery.track(rig.workspaceId, 'now')).voice).toEqual(VOICE);
    expect((await one.delivery.track(rig.workspaceId, 'plain')).voice).toBeUndefined();
  });

  test('is part of what makes a uid the same message, in any order', async () => {
    const one = await rig.process();
    const message = await call('same', { voice: VOICE });
    const { machine, ...rest } = VOICE;
    expect(await one.delivery.accept(rig.workspaceId, message)).toMatchObject({ duplicate: false });
    const turned = { ...message, voice: { ...rest, machine } };
    expect(await one.delivery.accept(rig.workspaceId, turned)).toMatchObject({ duplicate: true });
    const other = one.delivery.accept(rig.workspaceId, { ...message, voice: rest });
    await expect(other).rejects.toMatchObject({ code: 'uid_conflict' });
    const without = one.delivery.accept(rig.workspaceId, { ...message, voice: undefined });
    await expect(without).rejects.toMatchObject({ code: 'uid_conflict' });
  });
});
