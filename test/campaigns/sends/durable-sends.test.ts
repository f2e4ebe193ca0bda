/** Proves that a durable send reaches its outcome once, through crashes, refusals and retries. */

import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { claimSend, lookAtSend, recordSend, type SendClaim } from '../../../src/campaigns/sends/claim-sends';
import {
  awaitsOutcome,
  createDurableSends,
  type DurableSends,
} from '../../../src/campaigns/sends/durable-sends';
import type { SendRow } from '../../../src/campaigns/sends/send-step';
import { overdueSends } from '../../../src/campaigns/watch/run-reconciler';
import { type DurableSendBody, durableSendBody } from '../../../src/contracts/durable-sends';
import { sendMessageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { createLog } from '../../../src/log';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

describeWithDatabase('durable sends', (database) => {
  let db: Kysely<CampaignTables>;
  let sends: DurableSends;
  const launched: string[] = [];
  let woken: string[] = [];
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    sends = createDurableSends({
      db,
      launcher: {
        launchSend: async ({ sendId }) => void launched.push(sendId),
        wakeSend: async (id) => void woken.push(id),
      },
      log: createLog('silent'),
    });
  });
  beforeEach(() => {
    woken = [];
  });

  const body = (more: object = {}): DurableSendBody =>
    durableSendBody.parse({
      channel: 'sms',
      uid: newId('uid'),
      to: '+12025550190',
      from: '12345',
      'template-id': 'tpl_1',
      params: { NAME: 'Ada' },
      ...more,
    });
  const CALL = { channel: 'voice', from: '+12025550100' };

  async function made(more: object = {}) {
    const workspaceId = newId('ws');
    const { id } = await sends.create(workspaceId, newId('snd'), body(more));
    return { workspaceId, id, now: () => sends.read(workspaceId, id) };
  }

  async function claimed(id: string): Promise<SendClaim> {
    const claim = await claimSend(db, id, true);
    if (!claim) throw new Error(`nothing to do for ${id}`);
    return claim;
  }

  async function accepted(more: object = {}) {
    const send = await made(more);
    await recordSend(db, await claimed(send.id), { kind: 'accepted', follow: true });
    return send;
  }

  let pages = 0;
  async function tell(
    of: { workspaceId: string; id: string },
    type: string,
    more: Partial<MessageEvent> = {},
  ) {
    const { channel, messageUid } = await sends.read(of.workspaceId, of.id);
    const event: MessageEvent = {
      seq: 1,
      at: new Date().toISOString(),
      uid: messageUid ?? sendMessageUid(of.id, 1),
      id: newId('msg'),
      channel,
      type,
      state: type as MessageState,
      ...more,
    };
    const cursor = await readCursor(db, of.workspaceId);
    return applyEvents(db, of.workspaceId, cursor, `p${++pages}`, [event]);
  }

  const due = (id: string) =>
    sql`update durable_sends set due_at = now() - interval '1 second' where id = ${id}`.execute(db);

  test('are one for a uid and its content, however many ask at once', async () => {
    const workspaceId = newId('ws');
    const same = body();
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => sends.create(workspaceId, newId('snd'), same)),
    );
    expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
    expect(launched).toContain(answers[0]?.id);
    await expect(
      sends.create(workspaceId, newId('snd'), { ...same, to: '+12025550191' }),
    ).rejects.toMatchObject({ code: 'uid_conflict' });
    // What another workspace calls by the same name is another.
    const other = await sends.create(newId('ws'), newId('snd'), same);
    expect(other.id).not.toBe(answers[0]?.id);
  });

  test('are stored before they are launched, and found by the sweep when that failed', async () => {
    const failing = createDurableSends({
      db,
      launcher: {
        launchSend: async () => {
          throw new Error('no server');
        },
        wakeSend: async () => undefined,
      },
      log: createLog('silent'),
    });
    const { id } = await failing.create(newId('ws'), newId('snd'), body());
    const soon = new Date(Date.now() + 60_000).toISOString();
    const planned = await failing.create(newId('ws'), newId('snd'), body({ sendAt: soon }));
    const found = async () => (await overdueSends(db)).map(({ sendId }) => sendId);
    // It may still be on its way to its workflow.
    expect(await found()).not.toContain(id);
    expect(await found()).toContain(planned.id);
    await sql`update durable_sends set due_at = now() - interval '1 minute' where id = ${id}`.execute(db);
    expect(await found()).toContain(id);
  });

  test('wait for their hour, and expire', async () => {
    const sendAt = new Date(Date.now() + 3_600_000).toISOString();
    const later = await made({ sendAt });
    expect(await later.now()).toMatchObject({ state: 'waiting', dueAt: expect.anything() });
    const turn = await lookAtSend(db, later.id);
    expect(turn).toMatchObject({ kind: 'wait' });
    expect(turn.kind === 'wait' && turn.waitMs).toBeGreaterThan(3_500_000);
    const late = await made({ expiresAt: new Date(Date.now() - 1_000).toISOString() });
    expect(await lookAtSend(db, late.id)).toEqual({ kind: 'ended', state: 'expired', outcome: null });
    // One that expires before its hour is looked at then.
    const expiresAt = new Date(Date.now() + 1_800_000);
    const sooner = await made({ sendAt, expiresAt: expiresAt.toISOString() });
    expect(await sooner.now()).toMatchObject({ state: 'waiting', dueAt: expiresAt });
  });

  test('wait for their window, where the phone number is', async () => {
    const clock = (zone: string, aheadHours: number) =>
      new Date(Date.now() + aheadHours * 3_600_000).toLocaleTimeString('en-GB', {
        timeZone: zone,
        hour: '2-digit',
        minute: '2-digit',
      });
    // Of Norway, which is one zone.
    const to = '+4790123456';
    const shut = await made({ to, window: { from: clock('Europe/Oslo', 2), to: clock('Europe/Oslo', 3) } });
    const turn = await lookAtSend(db, shut.id);
    expect(turn).toMatchObject({ kind: 'wait' });
    expect(turn.kind === 'wait' && Math.abs(turn.waitMs - 2 * 3_600_000)).toBeLessThan(61_000);
    expect(await shut.now()).toMatchObject({ state: 'waiting', attempts: 0 });
    const open = await made({ to, window: { from: clock('Europe/Oslo', -1), to: clock('Europe/Oslo', 1) } });
    expect(await lookAtSend(db, open.id)).toMatchObject({ kind: 'act' });
  });

  test.each([
    [undefined, 'UTC'],
    ['recipient', 'UTC'],
    ['Europe/Oslo', 'Europe/Oslo'],
  ])('of email wait for their window: with the zone %p it is of %s', async (timezone, zone) => {
    const clock = (aheadHours: number) =>
      new Date(Date.now() + aheadHours * 3_600_000).toLocaleTimeString('en-GB', {
        timeZone: zone,
        hour: '2-digit',
        minute: '2-digit',
      });
    const email = { channel: 'email', to: 'a@example.com', from: 'b@example.com' };
    const shut = await made({ ...email, window: { from: clock(2), to: clock(3), timezone } });
    const turn = await lookAtSend(db, shut.id);
    expect(turn.kind === 'wait' && Math.abs(turn.waitMs - 2 * 3_600_000)).toBeLessThan(61_000);
    const open = await made({ ...email, window: { from: clock(-1), to: clock(1), timezone } });
    expect(await lookAtSend(db, open.id)).toMatchObject({ kind: 'act' });
  });

  test('go from accepted over sent to delivered by the feed, and wake their workflow at the end', async () => {
    const send = await accepted();
    expect(await send.now()).toMatchObject({ state: 'accepted', attempts: 1 });
    expect(await awaitsOutcome(db, send.workspaceId)).toBe(true);
    expect(await tell(send, 'sent')).toMatchObject({ sends: [] });
    expect(await send.now()).toMatchObject({ state: 'sent', finishedAt: null });
    expect(await tell(send, 'delivered')).toMatchObject({ sends: [send.id] });
    expect(await lookAtSend(db, send.id)).toEqual({ kind: 'ended', state: 'delivered', outcome: null });
    expect(await awaitsOutcome(db, send.workspaceId)).toBe(false);
  });

  test('ignore events of other workspaces, of superseded attempts, or of lower rank', async () => {
    const send = await accepted();
    const stranger = { ...send, workspaceId: newId('ws') };
    const cursor = await readCursor(db, stranger.workspaceId);
    const event = {
      uid: sendMessageUid(send.id, 1),
      channel: 'sms',
      type: 'failed',
      state: 'failed',
    } as MessageEvent;
    expect(await applyEvents(db, stranger.workspaceId, cursor, 'x', [event])).toMatchObject({ sends: [] });
    expect(await tell(send, 'failed', { uid: sendMessageUid(send.id, 2) })).toMatchObject({ sends: [] });
    await tell(send, 'delivered');
    await lookAtSend(db, send.id);
    await tell(send, 'undelivered');
    expect(await send.now()).toMatchObject({ state: 'delivered' });
  });

  test('move from unknown to what is learnt later', async () => {
    const send = await accepted();
    await tell(send, 'unknown', { code: 'answer_lost' });
    expect(await lookAtSend(db, send.id)).toMatchObject({ kind: 'ended', state: 'unknown' });
    await tell(send, 'delivered');
    expect(await send.now()).toMatchObject({ state: 'delivered', code: null });
  });

  test('retry temporary failures with growing delays, as often as their policy says', async () => {
    const retry = { maxAttempts: 3, initialDelaySeconds: 10, backoff: 2, maxDelaySeconds: 100 };
    const send = await made({ retry });
    const failed = { kind: 'failed', code: 'dependency_down', notBeforeMs: 0 } as const;
    const waits: number[] = [];
    for (let i = 0; i < 2; i++) {
      const turn = await recordSend(db, await claimed(send.id), failed);
      if (turn.kind !== 'wait') throw new Error(turn.kind);
      waits.push(turn.waitMs / 1000);
      expect(await send.now()).toMatchObject({ state: 'waiting', code: 'dependency_down', attempts: i + 1 });
      await due(send.id);
    }
    expect(waits[0]).toBeGreaterThanOrEqual(9.9);
    expect(waits[0]).toBeLessThanOrEqual(12);
    expect(waits[1]).toBeGreaterThanOrEqual(19.9);
    expect(waits[1]).toBeLessThanOrEqual(24);
    expect(await recordSend(db, await claimed(send.id), failed)).toMatchObject({ state: 'failed' });
    expect(await send.now()).toMatchObject({ state: 'failed', code: 'dependency_down', attempts: 3 });
  });

  test('count no attempt while they are throttled or the account is refused, and pause longer each time', async () => {
    const send = await made();
    const waits: number[] = [];
    for (let i = 0; i < 3; i++) {
      const turn = await recordSend(db, await claimed(send.id), { kind: 'account', code: 'invalid_client' });
      waits.push(turn.kind === 'wait' ? Math.round(turn.waitMs / 1000) : 0);
      await due(send.id);
    }
    expect(waits).toEqual([30, 60, 120]);
    await recordSend(db, await claimed(send.id), {
      kind: 'throttled',
      code: 'outbox_full',
      notBeforeMs: 5_000,
    });
    expect(await send.now()).toMatchObject({ state: 'waiting', code: 'outbox_full', attempts: 0 });
  });

  test('are in doubt when the offering process is gone, and record nothing for an outdated attempt', async () => {
    const send = await made();
    const first = await claimed(send.id);
    expect(first.inDoubt).toBe(false);
    const second = await claimed(send.id);
    expect(second.inDoubt).toBe(true);
    await recordSend(db, first, { kind: 'end', state: 'rejected', attempted: true });
    expect(await send.now()).toMatchObject({ state: 'sending' });
    await recordSend(db, second, { kind: 'end', state: 'unknown', code: 'answer_lost', attempted: true });
    expect(await send.now()).toMatchObject({ state: 'unknown', code: 'answer_lost' });
  });

  test('end by what the event feed said, when it was faster than an answer that was lost', async () => {
    const lost = { kind: 'end', state: 'unknown', code: 'answer_lost', attempted: true } as const;
    const failed = { kind: 'failed', code: 'dependency_down', notBeforeMs: 0 } as const;
    for (const result of [lost, failed]) {
      const send = await made({ retry: { maxAttempts: 1 } });
      await claimed(send.id);
      const again = await claimed(send.id);
      await tell(send, 'delivered');
      expect(await recordSend(db, again, result)).toMatchObject({ kind: 'ended', state: 'delivered' });
      expect(await send.now()).toMatchObject({ state: 'delivered', code: null, attempts: 1 });
    }
  });

  test('are not taken for failed when an earlier try may have got through', async () => {
    const send = await made({ retry: { maxAttempts: 1 } });
    await claimed(send.id);
    const again = await claimed(send.id);
    await recordSend(db, again, { kind: 'failed', code: 'dependency_down', notBeforeMs: 0 });
    expect(await send.now()).toMatchObject({ state: 'unknown' });
  });

  test('redial by how the call ended, under a uid of its own', async () => {
    const voice = { retry: { busy: { maxAttempts: 2, delaysSeconds: [0] } }, maxAttempts: 3 };
    const send = await accepted({ ...CALL, voice });
    await tell(send, 'busy', { state: 'undelivered' });
    expect(await lookAtSend(db, send.id)).toMatchObject({ kind: 'act' });
    expect(await send.now()).toMatchObject({ state: 'waiting', outcome: 'busy' });
    await recordSend(db, await claimed(send.id), { kind: 'accepted', follow: true });
    expect((await send.now()).messageUid).toBe(sendMessageUid(send.id, 2));
    await tell(send, 'completed', { state: 'delivered', data: { answeredBy: 'human' } });
    expect(await lookAtSend(db, send.id)).toEqual({ kind: 'ended', state: 'delivered', outcome: 'human' });
    expect(await send.now()).toMatchObject({ attempts: 2 });
  });

  test('send again what the service gave up, only if the caller asked for retries', async () => {
    const gaveUp = async (more: object) => {
      const send = await accepted(more);
      await tell(send, 'failed', { code: 'attempts_exhausted' });
      return lookAtSend(db, send.id);
    };
    expect(await gaveUp({})).toMatchObject({ kind: 'ended', state: 'failed' });
    expect(await gaveUp({ retry: { maxAttempts: 2 } })).toMatchObject({ kind: 'wait' });
  });

  test('are canceled at once before the service has them, and with its help afterwards', async () => {
    const send = await made({ sendAt: new Date(Date.now() + 3_600_000).toISOString() });
    expect(await sends.cancel(send.workspaceId, send.id)).toMatchObject({ state: 'canceled' });
    expect(woken).toEqual([send.id]);
    expect(await claimSend(db, send.id, true)).toBeUndefined();
    expect(await sends.cancel(send.workspaceId, send.id)).toMatchObject({ state: 'canceled' });

    const offered = await accepted();
    expect(await sends.cancel(offered.workspaceId, offered.id)).toMatchObject({ state: 'accepted' });
    const claim = await claimed(offered.id);
    expect(claim.kind).toBe('cancel');
    expect(await recordSend(db, claim, { kind: 'late' })).toMatchObject({ kind: 'wait' });
    await tell(offered, 'delivered');
    expect(await lookAtSend(db, offered.id)).toMatchObject({ state: 'delivered' });
    await expect(sends.cancel(offered.workspaceId, offered.id)).rejects.toMatchObject({
      code: 'not_cancelable',
    });
    await expect(sends.cancel(newId('ws'), offered.id)).rejects.toMatchObject({ code: 'not_found' });
  });

  test('are not redialled once they are canceled', async () => {
    const voice = { retry: { busy: { maxAttempts: 5, delaysSeconds: [0] } } };
    const send = await accepted({ ...CALL, voice });
    await sends.cancel(send.workspaceId, send.id);
    await tell(send, 'busy', { state: 'undelivered' });
    expect(await lookAtSend(db, send.id)).toEqual({ kind: 'ended', state: 'canceled', outcome: 'busy' });
  });

  test('end as they are when no receipt has come for a day', async () => {
    const send = await accepted();
    await tell(send, 'sent');
    await sql`update durable_sends set accepted_at = now() - interval '25 hours' where id = ${send.id}`.execute(
      db,
    );
    expect(await lookAtSend(db, send.id)).toEqual({ kind: 'ended', state: 'sent', outcome: null });
    await tell(send, 'delivered');
    expect(await send.now()).toMatchObject({ state: 'delivered' });
  });

  test('end as unknown when a call that was handed over stays silent for as long as campaigns wait', async () => {
    const silentFor = async (seconds: number, more: object = {}) => {
      const send = await accepted({ ...CALL, ...more });
      await tell(send, 'sent');
      await sql`
        update durable_sends set sent_at = now() - make_interval(secs => ${seconds}) where id = ${send.id}
      `.execute(db);
      return send.id;
    };
    const unknown = { kind: 'ended', state: 'unknown', outcome: null };
    // Ringing of 30 s, the longest call, and a minute of grace.
    expect(await lookAtSend(db, await silentFor(985))).toMatchObject({ kind: 'wait' });
    expect(await lookAtSend(db, await silentFor(991))).toEqual(unknown);
    const times = { silenceSeconds: 5 };
    const short = { voice: { ringTimeoutSeconds: 10 } };
    expect(await lookAtSend(db, await silentFor(10, short), times)).toMatchObject({ kind: 'wait' });
    expect(await lookAtSend(db, await silentFor(16, short), times)).toEqual(unknown);
    const claim = await claimSend(db, (await made(CALL)).id, true, times);
    expect(claim?.kind).toBe('send');
  });

  test('ask again for a call that its carrier could not place when campaigns do', async () => {
    const faulty = async () => {
      const send = await accepted(CALL);
      await tell(send, 'failed', { code: 'sip_503' });
      return send.id;
    };
    const seconds = ({ waitMs }: { waitMs: number }) => Math.round(waitMs / 1000);
    const usual = await lookAtSend(db, await faulty());
    const set = await lookAtSend(db, await faulty(), { faultSeconds: 3 });
    expect([usual, set].map((turn) => turn.kind === 'wait' && seconds(turn))).toEqual([120, 3]);
  });

  test('end as accepted at a service without outcomes', async () => {
    const send = await made();
    const turn = await recordSend(db, await claimed(send.id), { kind: 'accepted', follow: false });
    expect(turn).toEqual({ kind: 'ended', state: 'accepted', outcome: null });
    const row = (await db
      .selectFrom('durable_sends')
      .selectAll()
      .where('id', '=', send.id)
      .executeTakeFirst()) as SendRow;
    expect(row.finished_at).not.toBeNull();
  });
});
