import { WAIT_WHYS } from '../../src/domain/wait-reasons';
import { testsAtOnce } from '../support/at-once';
import { EXPLAINED_LIMIT_MS, Explanations, inAMoment, LATE_MS, timeOf, whats } from '../support/explanations';
import { createVoiceCampaign } from '../support/voice-campaign';

/** The next full minute that is far enough away to be told of. */
const nextMinute = () => Math.ceil((Date.now() + 12_000) / 60_000) * 60_000;
const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);

describe('what a recipient waits for, through the whole program', () => {
  let of: Explanations;
  const ready = async () => {
    of = await Explanations.start();
  };
  afterAll(() => of?.end());

  testsAtOnce(ready, EXPLAINED_LIMIT_MS, {
    async 'tells of a pause, and of no time for it'() {
      const people = of.newPeople(5);
      const last = people[4]?.phone ?? '';
      const id = await of.campaign(people, { delivery: { ratePerSecond: 1 } });
      await of.untilWhy(id, last, 'pace');
      await of.act(id, 'pause');
      const told = await of.untilWhy(id, last, 'paused');
      expect(told.next?.at).toBeUndefined();
      expect(told.summary).toContain('paused');
      await of.act(id, 'resume');
      await of.untilHandedOver(id, last);
    },

    async 'tells when the pace lets a recipient go'() {
      const people = of.newPeople(8);
      const last = people[7]?.phone ?? '';
      const id = await of.campaign(people, { delivery: { ratePerSecond: 1 } });
      await of.untilHandedOver(id, people[0]?.phone ?? '');
      await of.expectOnTime(id, last, await of.untilWhy(id, last, 'pace'));
    },

    async 'tells of a hold at the service'() {
      const to = of.newPhone();
      const id = await of.campaign([{ phone: to, name: 'H' }], { start: false });
      await of.here.api.expect('PUT', `/holds/${id}`);
      await of.act(id, 'start');
      expect((await of.untilWhy(id, to, 'hold')).next?.at).toBeUndefined();
      await of.here.api.expect('DELETE', `/holds/${id}`);
      await of.untilHandedOver(id, to);
    },

    async 'tells of a hold to those whom the service does not have yet'() {
      const people = of.newPeople(3);
      const last = people[2]?.phone ?? '';
      const id = await of.campaign(people, { start: false, delivery: { ratePerSecond: 0.2 } });
      await of.here.api.expect('PUT', `/holds/${id}`);
      await of.act(id, 'start');
      const held = await of.untilWhy(id, last, 'hold');
      expect(held.recipient?.state).toBe('pending');
      expect(held.next?.at).toBeUndefined();
      await of.here.api.expect('DELETE', `/holds/${id}`);
      await of.expectOnTime(id, last, await of.untilWhy(id, last, 'pace'));
    },

    async 'tells of an outbox in which others leave first'() {
      await of.here.api.expect('PUT', '/api/sender-limit', { channel: 'sms', sender: '54321', rate: 0.5 });
      const people = of.newPeople(4);
      const last = people[3]?.phone ?? '';
      const settings = { sms: { shortCode: '54321', templateId: of.sms, version: 1 } };
      const id = await of.campaign(people, { settings });
      await of.untilTold(
        ...([id, last, 'it is in the outbox'] as const),
        ({ next, recipient }) => next?.why === 'outbox' && recipient?.state === 'accepted',
      );
      await of.untilHandedOver(id, last);
    },

    async 'tells of the recipient’s own hour'() {
      const to = of.newPhone();
      const schedule = { startAt: inAMoment(15_000), recipientLocal: true };
      const id = await of.campaign([{ phone: to, name: 'S', timezone: 'Etc/UTC' }], { schedule });
      const told = await of.untilWhy(id, to, 'schedule');
      expect(Math.abs(Date.parse(told.next?.at ?? '') - Date.parse(schedule.startAt))).toBeLessThan(1_500);
      await of.expectOnTime(id, to, told);
    },

    async 'tells of a recipient’s own hour behind others whose hour comes before'() {
      const [sooner, later] = [of.newPhone(), of.newPhone()];
      const people = [
        { phone: sooner, name: 'S', timezone: 'Etc/UTC' },
        { phone: later, name: 'L', timezone: 'America/New_York' },
      ];
      const startAt = inAMoment(3_600_000);
      const schedule = { startAt, recipientLocal: true };
      const [id, paced] = await Promise.all([
        of.campaign(people, { schedule }),
        of.campaign(people, { schedule, delivery: { ratePerSecond: 0.01 } }),
      ]);
      for (const one of [id, paced]) {
        const own = await of.untilWhy(one, sooner, 'schedule');
        const { next } = await of.untilWhy(one, later, 'schedule');
        // New York is four or five hours behind.
        const hours = (Date.parse(next?.at ?? '') - Date.parse(own.next?.at ?? '')) / 3_600_000;
        expect([4, 5]).toContain(hours);
        await of.act(one, 'cancel');
      }
    },

    async 'tells of quiet hours and call windows, and of whichever ends last'() {
      const [quiet, called, both] = [of.newPhone(), of.newPhone(), of.newPhone()];
      const ends = nextMinute();
      const hours = { from: clock(ends - 3_600_000), to: clock(ends), timezone: 'Etc/UTC' };
      const window = { from: clock(ends), to: clock(ends + 7_200_000), timezone: 'Etc/UTC' };
      const later = { ...hours, to: clock(ends + 3_600_000) };
      const [message, call, last] = await Promise.all([
        of.campaign([{ phone: quiet, name: 'Q' }], { delivery: { quietHours: hours } }),
        createVoiceCampaign(of.here.api, [{ phone: called, name: 'W' }], { voice: { callWindow: window } }),
        createVoiceCampaign(of.here.api, [{ phone: both, name: 'B' }], {
          ...{ voice: { callWindow: window }, delivery: { quietHours: later } },
        }),
      ]);
      const [q, w, b] = await Promise.all([
        of.untilWhy(message, quiet, 'quiet_hours'),
        of.untilWhy(call, called, 'window'),
        of.untilWhy(last, both, 'quiet_hours'),
      ]);
      expect([q, w, b].map(({ next }) => Date.parse(next?.at ?? ''))).toEqual([
        ...[ends, ends, ends + 3_600_000],
      ]);
      await of.expectOnTime(message, quiet, q);
      await of.expectOnTime(call, called, w);
      await of.act(last, 'cancel');
    },

    async 'tells when a cap has room'() {
      const to = 'cap+delivered@example.com';
      await of.here.api.expect('PUT', '/api/policy', { caps: [{ channels: ['email'], max: 1, days: 1 }] });
      const one = { channel: ['email'] as 'email'[], params: { NAME: 'A' } };
      await of.untilHandedOver(await of.campaign([{ email: to }], one), to);
      // A day passes, but for some seconds.
      await of.pool.query(
        `update contact_uses set used_at = array[now() - interval '24 hours' + interval '12 seconds'] where address = $1`,
        [to],
      );
      const id = await of.campaign([{ email: to }], one);
      const told = await of.untilWhy(id, to, 'cap');
      await of.expectOnTime(id, to, told);
      await of.here.api.expect('PUT', '/api/policy', {});
    },

    async 'tells when a call that was busy is made again'() {
      const to = '+12025550199';
      const retry = { busy: { maxAttempts: 2, delaysSeconds: [8] } };
      const id = await createVoiceCampaign(of.here.api, [{ phone: to, name: 'V' }], { voice: { retry } });
      const told = await of.untilTold(id, to, 'it waits', ({ next }) => next?.why === 'retry' && !!next.at);
      expect(told.next?.detail).toContain('attempt 2 of 2');
      const planned = { what: 'retry_planned', data: { rule: 'busy', attempt: 2, of: 2 } };
      expect(told.steps.at(-1)).toMatchObject(planned);
      const again = await of.untilTold(
        ...([id, to, 'the second call is made'] as const),
        (one) => whats(one).filter((what) => what === 'handed_over').length === 2,
      );
      const lateMs = timeOf(again, 'handed_over') - Date.parse(told.next?.at ?? '');
      expect(lateMs).toBeGreaterThan(-500);
      expect(lateMs).toBeLessThan(LATE_MS);
      const plans = again.steps.filter(({ what }) => what === 'retry_planned');
      expect(plans).toMatchObject([planned]);
      await of.untilTold(id, to, 'it has ended', ({ recipient }) => recipient?.state === 'delivered');
    },

    async 'tells when a stage begins, and of a gate that keeps it from it'() {
      const [begins, judged] = ['+delivered@example.com', '+reject@example.com'].map((end) =>
        Array.from({ length: 6 }, (_, i) => ({ email: `stage${i}${end}` })),
      ) as [{ email: string }[], { email: string }[]];
      const email = { channel: ['email'] as 'email'[], params: { NAME: 'A' } };
      const [id, closed] = await Promise.all([
        of.campaign(begins, { ...email, release: { stages: [{ recipients: 3, waitSeconds: 15 }] } }),
        of.campaign(judged, {
          ...email,
          release: {
            stages: [{ recipients: 3, waitSeconds: 600 }],
            gates: [{ metric: 'rejected', above: 0.5, minSample: 2 }],
          },
        }),
      ]);
      const { to, told } = await of.untilOneWaits(id, ({ next }) => next?.why === 'stage' && !!next.at);
      await of.expectOnTime(id, to, told);

      const gate = await of.untilOneWaits(closed, ({ next }) => next?.why === 'gate');
      expect(gate.told.next).toEqual({ why: 'gate', detail: expect.stringContaining('rejected was 100 %') });
      await of.act(closed, 'resume');
      await of.untilWhy(closed, gate.to, 'stage');
      await of.act(closed, 'release');
      await of.untilHandedOver(closed, gate.to);
    },

    async 'tells when the next channel begins'() {
      const [to, address] = [of.newPhone(), 'fall+silent@example.com'];
      const id = await of.campaign([{ phone: to, email: address, name: 'F' }], {
        ...{ channel: ['email', 'sms'], strategy: 'fallback', fallbackAfterSeconds: 12 },
      });
      const told = await of.untilTold(
        id,
        to,
        'its turn is known',
        ({ next }) => next?.why === 'fallback' && !!next.at,
        '&channel=sms',
      );
      expect(told.next?.detail).toContain('email');
      // Without a channel, the one that was last acted on.
      const email = await of.explain(id, to);
      expect(email.recipient).toMatchObject({ channel: 'email', id: told.others[0] });
      expect(email.others).toEqual([told.recipient?.id]);
      await of.expectOnTime(id, to, told, '&channel=sms');
    },
  });

  test(
    'tells that the carrier’s report is still to come',
    async () => {
      const to = 'ann+silent@example.com';
      const id = await of.campaign([{ email: to }], { channel: ['email'], params: { NAME: 'A' } });
      // The outbox has handed it over before the campaign reads of it, and the reason holds in both states.
      await of.untilTold(
        ...([id, to, 'it was sent, and the report is waited for'] as const),
        ({ next, recipient }) => next?.why === 'outcome' && recipient?.state === 'sent',
      );
    },
    EXPLAINED_LIMIT_MS,
  );

  // It holds for all that is sent, and so comes when the others have ended.
  test(
    'tells of a stop of the workspace before a pause, with its reason',
    async () => {
      const people = of.newPeople(4);
      const last = people[3]?.phone ?? '';
      const id = await of.campaign(people, { delivery: { ratePerSecond: 1 } });
      await of.untilWhy(id, last, 'pace');
      await of.here.api.expect('POST', '/api/stop', { reason: 'the wrong template' });
      await of.act(id, 'pause');
      const told = await of.untilWhy(id, last, 'stopped');
      expect(told.next?.detail).toContain('the wrong template');
      expect(told.next?.at).toBeUndefined();
      await of.here.api.expect('DELETE', '/api/stop');
      await of.untilWhy(id, last, 'paused');
      await of.act(id, 'resume');
      await of.untilHandedOver(id, last);
    },
    EXPLAINED_LIMIT_MS,
  );

  // The same, and no campaign is sent after it.
  test(
    'tells of an account that is refused, and when a message is tried on it',
    async () => {
      const to = 'bill+account@example.com';
      const id = await of.campaign([{ email: to }], { channel: ['email'], params: { NAME: 'A' } });
      const told = await of.untilWhy(id, to, 'account');
      expect(told.next?.at).toEqual(expect.any(String));
      expect(told.summary).toContain('account');
      const later = await of.untilTold(
        ...([id, to, 'it was tried'] as const),
        ({ next }) => next?.why === 'account' && Date.parse(next.at ?? '') > Date.parse(told.next?.at ?? ''),
      );
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(told.next?.at ?? ''));
      expect(later.recipient?.state).toBe('accepted');
      await of.act(id, 'cancel');
    },
    EXPLAINED_LIMIT_MS,
  );

  // A reason that is added needs a test here, which compares what is told with what then happens.
  test('every reason of the catalogue was told', () => {
    expect([...of.seen.whys].sort()).toEqual([...WAIT_WHYS].sort());
  });
});
