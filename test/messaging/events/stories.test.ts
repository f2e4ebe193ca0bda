/** Proves what a message’s story says about its past and its wait. */

import { sql } from 'kysely';
import { LIMITS } from '../../../src/domain/limits';
import type { MessageStory } from '../../../src/domain/message-history';
import { liftSuppressions } from '../../../src/messaging/suppression/lift-suppressions';
import { upsertSuppressions } from '../../../src/messaging/suppression/suppression-rows';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

describeWithDatabase('the story of a message', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  beforeEach(async () => {
    rig = await createOutboxRig(await database.open());
    one = await rig.process();
  });
  afterEach(() => rig.stop());

  const send = (uid: string, more = {}) => one.delivery.accept(rig.workspaceId, rig.sms(uid, more));
  const tell = async (uid: string): Promise<MessageStory> => {
    const [story] = await one.delivery.stories(rig.workspaceId, [uid]);
    if (!story) throw new Error(`${uid} has no story`);
    return story;
  };
  const untilState = (uid: string, state: string) =>
    until(`${uid} is ${state}`, async () => (await rig.states())[uid] === state);

  test('has the account, the carrier’s id, the template and the segments of a message that was handed over', async () => {
    await send('gone', { campaign: 'spring' });
    await untilState('gone', 'sent');
    const [handed] = one.sms.taken;
    const story = await tell('gone');
    expect(story).toMatchObject({
      ...{ state: 'sent', account: 'default-sms', providerId: `p:${handed?.id}`, attempt: 1 },
      ...{ templateId: rig.smsTemplate, version: 1, segments: 1, encoding: 'gsm7', waits: null },
    });
    expect(story.events.map(({ type }) => type)).toEqual(['accepted', 'sent']);
    expect(JSON.stringify(story)).not.toMatch(/12025550123|Ada/);
  });

  test('shows no workspace another one’s message', async () => {
    await send('own');
    expect(await one.delivery.stories('ws_other', ['own'])).toEqual([]);
  });

  test('tells of a hold, and the message leaves when it is released', async () => {
    await one.delivery.hold(rig.workspaceId, 'spring');
    await send('held', { campaign: 'spring' });
    expect((await tell('held')).waits).toEqual({ why: 'hold' });
    await one.delivery.release(rig.workspaceId, 'spring');
    await untilState('held', 'sent');
    expect((await tell('held')).waits).toBeNull();
  });

  test('shows when a temporarily refused message is tried again, and it is tried then', async () => {
    one.sms.script = (message) =>
      one.sms.uids().filter((uid) => uid === message.uid).length === 1
        ? { kind: 'transient', code: 'busy_here' }
        : { kind: 'accepted', providerId: `p:${message.id}` };
    await send('again');
    const { waits, attempt, attemptsMax } = await until('it waits', async () => {
      const story = await tell('again');
      return story.waits?.why === 'retry' && story;
    });
    expect({ attempt, attemptsMax, code: waits?.code }).toEqual({
      ...{ attempt: 1, attemptsMax: LIMITS.handoverAttempts, code: 'busy_here' },
    });
    await untilState('again', 'sent');
    const sent = (await tell('again')).events.at(-1);
    const lateMs = Date.parse(sent?.at ?? '') - Date.parse(waits?.at ?? '');
    expect(lateMs).toBeGreaterThanOrEqual(0);
    expect(lateMs).toBeLessThan(2_000);
  });

  test('shows an account that the carrier refuses, even for a message that was not tried', async () => {
    one.sms.script = () => ({ kind: 'account', code: 'http_402', message: 'no credit' });
    await send('first');
    await until('it was tried', () => one.sms.taken.length > 0);
    await until('the account is paused', async () => (await tell('first')).waits?.why === 'account');
    await send('second');
    const { waits, attempt } = await tell('second');
    expect({ why: waits?.why, code: waits?.code, attempt }).toEqual({
      ...{ why: 'account', code: 'http_402', attempt: 0 },
    });
    expect(Date.parse(waits?.at ?? '')).toBeGreaterThan(Date.now() - 1_000);
  });

  test('shows which entry kept a message back, even after it was lifted', async () => {
    const stop = {
      channel: 'sms' as const,
      address: '+12025550123',
      reason: 'asked by letter',
      sender: undefined,
    };
    await upsertSuppressions(rig.db, rig.workspaceId, [stop], 'api');
    await send('kept');
    const entry = { channel: 'sms', sender: '', reason: 'asked by letter', source: 'api' };
    expect((await tell('kept')).suppression).toMatchObject(entry);
    const about = { workspaceId: rig.workspaceId, address: stop.address, channel: stop.channel };
    await liftSuppressions(rig.db, about, sql<boolean>`true`, 'api');
    expect((await tell('kept')).suppression).toMatchObject(entry);
    await send('after');
    await untilState('after', 'sent');
    expect((await tell('after')).suppression).toBeUndefined();
  });
});
