/** Proves that a doubt is ended by a look at the carrier only where nothing else can be meant, and that ringing calls are taken back. */

import { sql } from 'kysely';
import { eraseMessages } from '../../../../src/messaging/outbox/erase-messages';
import type { InDoubt, LookUpResult } from '../../../../src/providers/provider';
import { describeWithDatabase } from '../../../support/storage';
import { until } from '../../../support/until';
import { addTemplate, createOutboxRig, type OutboxRig, type TestProcess } from '../../outbox-rig';
import { ScriptedProvider } from '../../scripted-provider';

const ACCOUNT = 'twilio:acc_own';

/** A carrier that lists what it was given, and takes calls back. */
class Vendor extends ScriptedProvider {
  asked: InDoubt[] = [];
  withdrawn: string[] = [];
  answer: LookUpResult = { kind: 'none' };
  breaksNext = false;
  refusals = 0;
  async lookUp(message: InDoubt): Promise<LookUpResult> {
    this.asked.push(message);
    if (!this.breaksNext) return this.answer;
    this.breaksNext = false;
    throw new Error('The answer cannot be read');
  }
  async withdraw(providerId: string): Promise<void> {
    if (this.refusals-- > 0) throw new Error('The vendor cannot be asked');
    this.withdrawn.push(providerId);
  }
}

describeWithDatabase('a vendor that is asked', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  let sms: Vendor;
  let voice: Vendor;
  let template: string;

  beforeAll(async () => {
    rig = await createOutboxRig(await database.open());
    [sms, voice] = [new Vendor('sms', {}, ACCOUNT), new Vendor('voice', {}, ACCOUNT)];
    one = await rig.process({ sms, voice }, { lookUpMs: 100 });
    template = await addTemplate(rig.db, rig.workspaceId, {
      channel: 'voice',
      body: '<Response><Say>Hi</Say></Response>',
    });
  });
  afterAll(() => rig.stop());
  beforeEach(() => {
    sms.asked = [];
    sms.script = () => ({ kind: 'unknown' });
  });

  const state = async (uid: string) => (await rig.states())[uid];
  async function inDoubt(uid: string, to: string): Promise<string> {
    const { id } = await one.delivery.accept(rig.workspaceId, rig.sms(uid, { to }));
    await until('it is unknown', async () => (await state(uid)) === 'unknown');
    return id;
  }
  const lookNow = () =>
    rig.db
      .updateTable('vendor_doubts')
      .set({ look_at: new Date(0) })
      .execute();
  const open = async () =>
    (await rig.db.selectFrom('vendor_doubts').select(['message_id', 'looks']).execute()).map((row) => ({
      ...row,
    }));

  test('by recipient, sender, text and time; the one match is the message from then on', async () => {
    const before = Date.now();
    const id = await inDoubt('found', '+12025550111');
    sms.answer = { kind: 'found', providerIds: ['SM-found'] };
    await lookNow();
    await until('it is sent', async () => (await state('found')) === 'sent');
    expect(sms.asked[0]).toMatchObject({ id, to: '+12025550111', text: 'Hello Ada' });
    expect(sms.asked[0]?.sinceMs).toBeGreaterThan(before - 60_000);
    expect(sms.asked[0]?.untilMs).toBeGreaterThanOrEqual(sms.asked[0]?.sinceMs ?? 0);
    await one.delivery.receiptsOf(ACCOUNT)([{ providerId: 'SM-found', type: 'delivered' }]);
    expect(await state('found')).toBe('delivered');
    await until('the doubt is forgotten', async () => (await open()).length === 0);
  });

  test('several matches, one that is another message’s, or another message in doubt leave it unknown', async () => {
    sms.answer = { kind: 'found', providerIds: ['SM-a', 'SM-b'] };
    await inDoubt('several', '+12025550112');
    await lookNow();
    // A look is counted before the carrier is asked, so that only the question tells when the answer may be another.
    await until('the carrier was asked', () => sms.asked.length === 1);
    sms.answer = { kind: 'found', providerIds: ['SM-found'] };
    await lookNow();
    await until('the carrier was asked again', () => sms.asked.length === 2);
    sms.answer = { kind: 'found', providerIds: ['SM-c'] };
    await inDoubt('twin', '+12025550112');
    await lookNow();
    await until('both were looked at', async () => {
      const looks = (await open()).map((one) => one.looks).sort();
      return looks.join() === '1,3';
    });
    expect([await state('several'), await state('twin')]).toEqual(['unknown', 'unknown']);
    await rig.db.deleteFrom('vendor_doubts').execute();
  });

  test('one whose look-up fails costs the others no look', async () => {
    const both = ['broken', 'beside'];
    for (const [i, uid] of both.entries()) await inDoubt(uid, `+1202555013${i}`);
    sms.answer = { kind: 'found', providerIds: ['SM-beside'] };
    sms.breaksNext = true;
    await lookNow();
    const states = () => Promise.all(both.map(state));
    await until('the other one is sent', async () => (await states()).includes('sent'));
    expect((await states()).sort()).toEqual(['sent', 'unknown']);
    await rig.db.deleteFrom('vendor_doubts').execute();
  });

  test('a callback that comes first ends the looks', async () => {
    const id = await inDoubt('called', '+12025550113');
    await one.delivery.receiptsOf(ACCOUNT)([{ id, providerId: 'SM-called', type: 'delivered' }]);
    await lookNow();
    await until('the doubt is forgotten', async () => (await open()).length === 0);
    expect(sms.asked.filter((one) => one.id === id)).toEqual([]);
  });

  test('a carrier is not asked about a person who was erased: without their number it would list all messages', async () => {
    const to = '+12025550119';
    await inDoubt('erased', to);
    await eraseMessages(rig.db, { workspaceId: rig.workspaceId, addresses: [to], words: [] });
    sms.answer = { kind: 'found', providerIds: ['SM-of-another'] };
    await lookNow();
    await until('the doubt is forgotten', async () => (await open()).length === 0);
    expect([await state('erased'), sms.asked]).toEqual(['unknown', []]);
  });

  test('a look finds nothing after 30 seconds and 2 minutes, and the last after 10 minutes ends the doubt', async () => {
    sms.answer = { kind: 'none' };
    const id = await inDoubt('late', '+12025550114');
    const next = async () => {
      const { rows } = await sql<{ looks: number; seconds: number | null }>`
        select looks, case when look_at < 'infinity' then extract(epoch from look_at - now())::float end as seconds
        from vendor_doubts where message_id = ${id}`.execute(rig.db);
      return rows[0];
    };
    // Times are counted from each look, and the test does not wait for them.
    const expectNext = async (looks: number, seconds: number) => {
      const found = await next();
      expect(found?.looks).toBe(looks);
      expect(found?.seconds).toBeGreaterThan(seconds - 25);
      expect(found?.seconds).toBeLessThanOrEqual(seconds);
    };
    const look = async (nth: number) => {
      await lookNow();
      await until(`look ${nth}`, () => sms.asked.filter((one) => one.id === id).length === nth);
    };
    await expectNext(0, 30);
    await look(1);
    await expectNext(1, 120);
    await look(2);
    await expectNext(2, 600);
    sms.answer = { kind: 'found', providerIds: ['SM-late'] };
    await look(3);
    await until('it is sent', async () => (await state('late')) === 'sent');
  });

  test('after the last look nothing is asked any more, and the message stays unknown', async () => {
    sms.answer = { kind: 'none' };
    const id = await inDoubt('lost', '+12025550115');
    await rig.db.updateTable('vendor_doubts').set({ looks: 2 }).where('message_id', '=', id).execute();
    await lookNow();
    await until('it was asked', () => sms.asked.some((one) => one.id === id));
    const { rows } = await sql`
      select from vendor_doubts where message_id = ${id} and looks = 3 and look_at = 'infinity'`.execute(
      rig.db,
    );
    expect(rows).toHaveLength(1);
    expect(await state('lost')).toBe('unknown');
    await rig.db.deleteFrom('vendor_doubts').execute();
  });

  const call = (uid: string, campaign: string) =>
    rig.sms(uid, {
      ...{ channel: 'voice', to: '+12025550120', from: '+12125550100' },
      ...{ 'template-id': template, params: {}, campaign },
    });

  async function ringing(uid: string, campaign: string): Promise<string> {
    const { id } = await one.delivery.accept(rig.workspaceId, call(uid, campaign));
    await until('it is handed over', async () => (await state(uid)) === 'sent');
    await begin(id, uid);
    return id;
  }

  /** As the vendor's provider writes it before it asks for the call. */
  async function begin(id: string, uid: string): Promise<void> {
    await rig.db
      .insertInto('vendor_calls')
      .values({
        message_id: id,
        token: uid,
        kind: 'twilio',
        account_id: 'acc_own',
        provider: ACCOUNT,
        document: '',
        options: '{}',
      })
      .execute();
  }

  test('to take a call back that rings, by a cancel and by a hold, but none that is answered', async () => {
    const canceled = await ringing('cancel', 'other');
    await expect(one.delivery.cancel(rig.workspaceId, 'cancel')).rejects.toMatchObject({
      code: 'not_cancelable',
    });
    expect(voice.withdrawn).toEqual([`p:${canceled}`]);
    const held = await ringing('held', 'spring');
    const talking = await ringing('talking', 'spring');
    await rig.db
      .updateTable('vendor_calls')
      .set({ facts: JSON.stringify([{ kind: 'answered', atMs: 1 }]) })
      .where('message_id', '=', talking)
      .execute();
    await one.delivery.hold(rig.workspaceId, 'spring');
    expect(voice.withdrawn).toEqual([`p:${canceled}`, `p:${held}`]);
    await one.delivery.release(rig.workspaceId, 'spring');
  });

  test('again to take a call back that rings, when it could not be asked', async () => {
    const canceled = await ringing('cancel2', 'other');
    voice.refusals = 1;
    await expect(one.delivery.cancel(rig.workspaceId, 'cancel2')).rejects.toThrow();
    expect(voice.withdrawn).not.toContain(`p:${canceled}`);
    await until('it is taken back', () => voice.withdrawn.includes(`p:${canceled}`), 5_000);
    const held = await ringing('held2', 'autumn');
    voice.refusals = 1;
    await one.delivery.hold(rig.workspaceId, 'autumn');
    await until('it is taken back', () => voice.withdrawn.includes(`p:${held}`), 5_000);
    await one.delivery.release(rig.workspaceId, 'autumn');
  });

  test('to take a call back that was asked for as it was canceled', async () => {
    voice.script = voice.hang;
    const { id } = await one.delivery.accept(rig.workspaceId, call('begun', 'other'));
    await until('it is asked for', () => voice.uids().includes('begun'));
    await begin(id, 'begun');
    await expect(one.delivery.cancel(rig.workspaceId, 'begun')).rejects.toThrow();
    const noted = rig.db.selectFrom('vendor_calls').select('withdrawn').where('message_id', '=', id);
    expect(await noted.executeTakeFirst()).toMatchObject({ withdrawn: 'cancel' });
    voice.release({ kind: 'accepted', providerId: `p:${id}` });
    await until('it is taken back', () => voice.withdrawn.includes(`p:${id}`), 5_000);
  });

  test('to take calls back that ring, when the process that was to ask again has ended', async () => {
    voice.script = ({ id }) => ({ kind: 'accepted', providerId: `p:${id}` });
    const canceled = await ringing('cancel3', 'other');
    const held = await ringing('held3', 'winter');
    const going = await ringing('going3', 'other');
    // As a killed process leaves them.
    await sql`update vendor_calls set withdrawn = 'cancel' where message_id = ${canceled}`.execute(rig.db);
    await sql`insert into holds (workspace_id, campaign) values (${rig.workspaceId}, 'winter')`.execute(
      rig.db,
    );
    await sql`insert into dispatch_lanes (id, owner, fence, lease_until)
      values ('lane_killed', 'killed', 1, now() - interval '1 minute')`.execute(rig.db);
    await until(
      'both are taken back',
      () => [canceled, held].every((id) => voice.withdrawn.includes(`p:${id}`)),
      15_000,
    );
    expect(voice.withdrawn).not.toContain(`p:${going}`);
    await one.delivery.release(rig.workspaceId, 'winter');
  }, 20_000);
});
