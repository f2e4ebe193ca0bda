import { Pool } from 'pg';
import type { PersonExplanation } from '../../src/client/types';
import { LIMITS } from '../../src/domain/limits';
import { campaignDetail, createSmsTemplate, untilPhase } from '../support/api-client';
import { runFanfare } from '../support/fanfare-command';
import { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const LIMIT_MS = 150_000;
/** What a page, the outbox and a busy machine add to the time that is told. */
const LATE_MS = 8_000;

/**
 * Each test sends to a person of its own, and holds what is told against what then happens; long because each reason is
 * one.
 */
describe('an explanation of a recipient, through the whole program', () => {
  let here: Installation;
  let pool: Pool;
  let sms: string;
  let email: string;
  let phones = 3_000_000;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
    pool = new Pool({ connectionString: here.place.env.DATABASE_URL as string, max: 1 });
    sms = await createSmsTemplate(here.api);
    const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      ...{ templateName: 'explained', channel: 'email', subject: 'Hello', body: '<p>Hello {{NAME}}</p>' },
    });
    email = template.id;
  }, 120_000);
  afterAll(async () => {
    await pool?.end();
    await here?.remove();
  });

  const newPhone = () => `+1202${++phones}`;

  async function list(contacts: object[]): Promise<string> {
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'Readers',
    });
    await here.api.expect('POST', `/api/contact-list/${data.id}/contacts`, { contacts });
    return data.id;
  }

  const SETTINGS = {
    sms: () => ({ shortCode: '12345', templateId: sms, version: 1 }),
    email: () => ({ fromEmail: 'news@example.com', templateId: email, version: 1 }),
  };

  async function campaign(
    contacts: object[],
    { channel = ['sms'], ...more }: { channel?: ('sms' | 'email')[] } & Record<string, unknown> = {},
  ): Promise<string> {
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      ...{ campaignId: null, name: 'Spring', channel, contactListId: [await list(contacts)] },
      settings: Object.fromEntries(channel.map((one) => [one, SETTINGS[one]()])),
      ...more,
    });
    return data.id;
  }

  const explain = async (id: string, to: string, more = ''): Promise<PersonExplanation> =>
    (
      await here.api.expect<{ data: PersonExplanation }>(
        'GET',
        `/api/explain?campaign=${id}&to=${encodeURIComponent(to)}${more}`,
      )
    ).data;

  const untilTold = (
    id: string,
    to: string,
    what: string,
    is: (told: PersonExplanation) => boolean,
    more = '',
  ) =>
    until(
      what,
      async () => {
        const query = `/api/explain?campaign=${id}&to=${encodeURIComponent(to)}${more}`;
        const { status, body } = await here.api.call<{ data: PersonExplanation }>('GET', query);
        return status === 200 && is(body.data) && body.data;
      },
      LIMIT_MS,
    );
  const untilWhy = (id: string, to: string, why: string) =>
    untilTold(id, to, `${to} waits: ${why}`, ({ next }) => next?.why === why);
  const untilHandedOver = async (
    id: string,
    to: string,
    more = '',
  ): Promise<{ told: PersonExplanation; at: number }> => {
    const isHandedOver = (one: PersonExplanation) => whats(one).includes('handed_over');
    const told = await untilTold(id, to, `${to} is handed over`, isHandedOver, more);
    return { told, at: timeOf(told, 'handed_over') };
  };
  const timeOf = ({ steps }: PersonExplanation, what: string) =>
    Date.parse(steps.findLast((step) => step.what === what)?.at ?? '');
  const whats = ({ steps }: PersonExplanation) => steps.map(({ what }) => what);

  /** The recipient goes on at the time that was told, and not before. */
  async function expectOnTime(
    id: string,
    to: string,
    { next }: PersonExplanation,
    more = '',
  ): Promise<PersonExplanation> {
    const due = Date.parse(next?.at ?? '');
    const { told, at } = await untilHandedOver(id, to, more);
    expect(at - due).toBeGreaterThan(-1_500);
    expect(at - due).toBeLessThan(LATE_MS);
    return told;
  }

  const inAMoment = (ms: number) => new Date(Date.now() + ms).toISOString();
  /** The next full minute that is far enough away to be told of. */
  const nextMinute = () => Math.ceil((Date.now() + 12_000) / 60_000) * 60_000;
  const clock = (ms: number) => new Date(ms).toISOString().slice(11, 16);

  it(
    'tells every step of a message that arrived',
    async () => {
      const [to, name] = [newPhone(), 'Ada'];
      const id = await campaign([{ phone: to, name }], {});
      await untilPhase(here.api, id, ['completed'], LIMIT_MS);
      const told = await untilTold(id, to, 'it is handed over', (one) => whats(one).includes('handed_over'));
      expect(whats(told).slice(0, 4)).toEqual(['frozen', 'answered', 'rendered', 'handed_over']);
      const [frozen, answered, rendered, handed] = told.steps;
      expect(frozen?.detail).toContain('“Readers”');
      expect(answered?.detail).toBe('The messaging service took the message.');
      expect(rendered?.data).toMatchObject({ templateId: sms, version: 1, segments: 1, encoding: 'gsm7' });
      expect(handed?.data).toMatchObject({ account: 'simulator', attempt: 1 });
      expect(handed?.data?.providerId).toEqual(expect.any(String));
      expect(handed?.data?.milliseconds).toBeGreaterThanOrEqual(0);
      expect(told.recipient).toMatchObject({ address: to, channel: 'sms' });
      expect(told.others).toEqual([]);
      expect(JSON.stringify([told.summary, told.steps])).not.toContain(to);
      const one = await here.api.expect<{ data: PersonExplanation }>(
        'GET',
        `/api/campaign/${id}/recipients/${told.recipient?.id}`,
      );
      expect(one.data).toMatchObject({ recipient: { id: told.recipient?.id }, steps: expect.any(Array) });
      const shown = await runFanfare(['explain', id, to], { FANFARE_DATA_DIR: here.place.dataDir }).ended;
      expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('handed_over')]);
      const strangers = await here.api.call('GET', `/api/explain?campaign=${id}&to=%2B12025550000`);
      expect(strangers.status).toBe(404);
      for (const [query, code] of [
        ['', 'required'],
        [`&to=a@example.com&contact=${told.recipient?.contactId}`, 'not_applicable'],
      ]) {
        const { status, body } = await here.api.call('GET', `/api/explain?campaign=${id}${query}`);
        expect({ status, errors: body.errors }).toMatchObject({
          status: 422,
          errors: [{ path: 'to', code }],
        });
      }
    },
    LIMIT_MS,
  );

  it(
    'tells of a receipt, and of one that is still to come',
    async () => {
      const [arrived, silent] = ['ann+delivered@example.com', 'ann+silent@example.com'];
      const id = await campaign([{ email: arrived }, { email: silent }], {
        channel: ['email'],
        params: { NAME: 'A' },
      });
      const told = await untilTold(
        ...([id, arrived, 'it is delivered'] as const),
        ({ recipient }) => recipient?.state === 'delivered',
      );
      expect(told.next).toBeNull();
      expect(told.steps.at(-1)).toMatchObject({ what: 'receipt', code: 'delivered' });
      expect(told.summary).toContain('was delivered on 20');
      await untilPhase(here.api, id, ['completed'], LIMIT_MS);
      const waits = await untilWhy(id, silent, 'outcome');
      expect(waits).toMatchObject({ recipient: { state: 'sent' } });
    },
    LIMIT_MS,
  );

  it(
    'tells of a refusal with its code, and of hand-overs that fail for the moment',
    async () => {
      const [refused, down] = ['eve+reject@example.com', 'eve+down@example.com'];
      const id = await campaign([{ email: refused }, { email: down }], {
        channel: ['email'],
        params: { NAME: 'A' },
      });
      const told = await untilTold(
        id,
        refused,
        'it is refused',
        ({ recipient }) => recipient?.state === 'rejected',
      );
      expect(whats(told).slice(-3)).toEqual(['rendered', 'handed_over', 'answered']);
      expect(told.steps.at(-1)).toMatchObject({ code: told.recipient?.code });
      const planned = await untilTold(
        id,
        down,
        'it is tried again',
        ({ next }) => next?.why === 'retry' && !!next.at,
      );
      const step = planned.steps.at(-1);
      expect(step).toMatchObject({ what: 'retry_planned', data: { of: LIMITS.handoverAttempts } });
      const attempt = Number(step?.data?.attempt);
      const later = await untilTold(
        ...([id, down, 'the attempt is made'] as const),
        ({ steps }) => Number(steps.at(-1)?.data?.attempt) > attempt,
      );
      const lateMs = timeOf(later, 'retry_planned') - Date.parse(planned.next?.at ?? '');
      expect(lateMs).toBeGreaterThan(-100);
      expect(lateMs).toBeLessThan(LATE_MS * 2);
      await here.api.expect('POST', `/api/campaign/${id}/cancel`, {});
    },
    LIMIT_MS,
  );

  it(
    'tells of a pause, and of no time for it',
    async () => {
      const people = Array.from({ length: 5 }, () => ({ phone: newPhone(), name: 'P' }));
      const last = people[4]?.phone ?? '';
      const id = await campaign(people, { delivery: { ratePerSecond: 1 } });
      await untilWhy(id, last, 'pace');
      await here.api.expect('POST', `/api/campaign/${id}/pause`, {});
      const told = await untilWhy(id, last, 'paused');
      expect(told.next?.at).toBeUndefined();
      expect(told.summary).toContain('paused');
      await here.api.expect('POST', `/api/campaign/${id}/resume`, {});
      await untilHandedOver(id, last);
    },
    LIMIT_MS,
  );

  it(
    'tells of a stop of the workspace before a pause, with its reason',
    async () => {
      const people = Array.from({ length: 4 }, () => ({ phone: newPhone(), name: 'P' }));
      const last = people[3]?.phone ?? '';
      const id = await campaign(people, { delivery: { ratePerSecond: 1 } });
      await untilWhy(id, last, 'pace');
      await here.api.expect('POST', '/api/stop', { reason: 'the wrong template' });
      await here.api.expect('POST', `/api/campaign/${id}/pause`, {});
      const told = await untilWhy(id, last, 'stopped');
      expect(told.next?.detail).toContain('the wrong template');
      expect(told.next?.at).toBeUndefined();
      await here.api.expect('DELETE', '/api/stop');
      await untilWhy(id, last, 'paused');
      await here.api.expect('POST', `/api/campaign/${id}/resume`, {});
      await untilHandedOver(id, last);
    },
    LIMIT_MS,
  );

  it(
    'tells when the pace lets a recipient go',
    async () => {
      const people = Array.from({ length: 8 }, () => ({ phone: newPhone(), name: 'P' }));
      const last = people[7]?.phone ?? '';
      const id = await campaign(people, { delivery: { ratePerSecond: 1 } });
      await untilHandedOver(id, people[0]?.phone ?? '');
      await expectOnTime(id, last, await untilWhy(id, last, 'pace'));
    },
    LIMIT_MS,
  );

  it(
    'tells of a hold at the service',
    async () => {
      const to = newPhone();
      const id = await campaign([{ phone: to, name: 'H' }], { start: false });
      await here.api.expect('PUT', `/holds/${id}`);
      await here.api.expect('POST', `/api/campaign/${id}/start`, {});
      expect((await untilWhy(id, to, 'hold')).next?.at).toBeUndefined();
      await here.api.expect('DELETE', `/holds/${id}`);
      await untilHandedOver(id, to);
    },
    LIMIT_MS,
  );

  it(
    'tells of an outbox in which others leave first',
    async () => {
      await here.api.expect('PUT', '/api/sender-limit', { channel: 'sms', sender: '54321', rate: 0.5 });
      const people = Array.from({ length: 4 }, () => ({ phone: newPhone(), name: 'O' }));
      const last = people[3]?.phone ?? '';
      const settings = { sms: { shortCode: '54321', templateId: sms, version: 1 } };
      const id = await campaign(people, { settings });
      await untilTold(
        ...([id, last, 'it is in the outbox'] as const),
        ({ next, recipient }) => next?.why === 'outbox' && recipient?.state === 'accepted',
      );
      await untilHandedOver(id, last);
    },
    LIMIT_MS,
  );

  it(
    'tells of the recipient’s own hour',
    async () => {
      const to = newPhone();
      const schedule = { startAt: inAMoment(15_000), recipientLocal: true };
      const id = await campaign([{ phone: to, name: 'S', timezone: 'Etc/UTC' }], { schedule });
      const told = await untilWhy(id, to, 'schedule');
      expect(Math.abs(Date.parse(told.next?.at ?? '') - Date.parse(schedule.startAt))).toBeLessThan(1_500);
      await expectOnTime(id, to, told);
    },
    LIMIT_MS,
  );

  it(
    'tells of quiet hours and call windows, and of whichever ends last',
    async () => {
      const [quiet, called, both] = [newPhone(), newPhone(), newPhone()];
      const ends = nextMinute();
      const hours = { from: clock(ends - 3_600_000), to: clock(ends), timezone: 'Etc/UTC' };
      const window = { from: clock(ends), to: clock(ends + 7_200_000), timezone: 'Etc/UTC' };
      const later = { ...hours, to: clock(ends + 3_600_000) };
      const [message, call, last] = await Promise.all([
        campaign([{ phone: quiet, name: 'Q' }], { delivery: { quietHours: hours } }),
        createVoiceCampaign(here.api, [{ phone: called, name: 'W' }], { voice: { callWindow: window } }),
        createVoiceCampaign(here.api, [{ phone: both, name: 'B' }], {
          ...{ voice: { callWindow: window }, delivery: { quietHours: later } },
        }),
      ]);
      const [q, w, b] = await Promise.all([
        untilWhy(message, quiet, 'quiet_hours'),
        untilWhy(call, called, 'window'),
        untilWhy(last, both, 'quiet_hours'),
      ]);
      expect([q, w, b].map(({ next }) => Date.parse(next?.at ?? ''))).toEqual([
        ...[ends, ends, ends + 3_600_000],
      ]);
      await expectOnTime(message, quiet, q);
      await expectOnTime(call, called, w);
      await here.api.expect('POST', `/api/campaign/${last}/cancel`, {});
    },
    LIMIT_MS,
  );

  it(
    'tells when a cap has room',
    async () => {
      const to = 'cap+delivered@example.com';
      await here.api.expect('PUT', '/api/policy', { caps: [{ channels: ['email'], max: 1, days: 1 }] });
      const one = { channel: ['email'] as 'email'[], params: { NAME: 'A' } };
      await untilHandedOver(await campaign([{ email: to }], one), to);
      // A day passes, but for some seconds.
      await pool.query(
        `update contact_uses set used_at = array[now() - interval '24 hours' + interval '12 seconds'] where address = $1`,
        [to],
      );
      const id = await campaign([{ email: to }], one);
      const told = await untilWhy(id, to, 'cap');
      await expectOnTime(id, to, told);
      await here.api.expect('PUT', '/api/policy', {});
    },
    LIMIT_MS,
  );

  it(
    'tells when a call that was busy is made again',
    async () => {
      const to = '+12025550199';
      const retry = { busy: { maxAttempts: 2, delaysSeconds: [8] } };
      const id = await createVoiceCampaign(here.api, [{ phone: to, name: 'V' }], { voice: { retry } });
      const told = await untilTold(id, to, 'it waits', ({ next }) => next?.why === 'retry' && !!next.at);
      expect(told.next?.detail).toContain('attempt 2 of');
      expect(told.steps.at(-1)).toMatchObject({ what: 'retry_planned', data: { rule: 'busy', attempt: 2 } });
      const again = await untilTold(
        ...([id, to, 'the second call is made'] as const),
        (one) => whats(one).filter((what) => what === 'handed_over').length === 2,
      );
      const lateMs = timeOf(again, 'handed_over') - Date.parse(told.next?.at ?? '');
      expect(lateMs).toBeGreaterThan(-500);
      expect(lateMs).toBeLessThan(LATE_MS);
      expect(whats(again).filter((what) => what === 'retry_planned')).toHaveLength(1);
      await untilTold(id, to, 'it has ended', ({ recipient }) => recipient?.state === 'delivered');
    },
    LIMIT_MS,
  );

  it(
    'tells when the next channel begins',
    async () => {
      const [to, address] = [newPhone(), 'fall+silent@example.com'];
      const id = await campaign([{ phone: to, email: address, name: 'F' }], {
        ...{ channel: ['email', 'sms'], strategy: 'fallback', fallbackAfterSeconds: 12 },
      });
      const told = await untilTold(
        id,
        to,
        'its turn is known',
        ({ next }) => next?.why === 'fallback' && !!next.at,
        '&channel=sms',
      );
      expect(told.next?.detail).toContain('email');
      // Without a channel, the one that was last acted on.
      const email = await explain(id, to);
      expect(email.recipient).toMatchObject({ channel: 'email', id: told.others[0] });
      expect(email.others).toEqual([told.recipient?.id]);
      await expectOnTime(id, to, told, '&channel=sms');
    },
    LIMIT_MS,
  );

  it(
    'tells which entry kept a person out at the freeze, and which one later, also when it is lifted',
    async () => {
      const [before, after] = [newPhone(), newPhone()];
      const block = (address: string) =>
        here.api.expect('POST', '/api/suppression', { channel: 'sms', address, reason: 'asked by letter' });
      await block(before);
      const people = [before, after].map((phone) => ({ phone, name: 'S', externalId: `s${phone}` }));
      const id = await campaign([...people, { email: 'nophone@example.com', externalId: 'no-phone' }], {
        start: false,
      });
      await here.api.expect('PUT', `/holds/${id}`);
      await here.api.expect('POST', `/api/campaign/${id}/start`, {});
      await untilWhy(id, after, 'hold');
      await block(after);
      await here.api.expect('DELETE', `/holds/${id}`);
      await untilTold(id, after, 'it is suppressed', ({ recipient }) => recipient?.state === 'suppressed');
      for (const address of [before, after]) {
        await here.api.expect(
          'DELETE',
          `/api/suppression?channel=sms&address=${encodeURIComponent(address)}`,
        );
      }
      const late = await explain(id, after);
      expect(late.steps.at(-1)).toMatchObject({
        what: 'suppressed',
        detail: expect.stringContaining('asked by letter'),
      });
      expect(late.next).toBeNull();
      const early = await explain(id, before);
      expect(early).toMatchObject({
        ...{ recipient: null, next: null, skipped: { channel: 'sms', reason: 'suppressed' } },
        steps: [{ what: 'suppressed', code: 'suppressed' }],
      });
      expect(early.skipped?.evidence).toContain('asked by letter');
      const { data } = await here.api.expect<{ data: { reason: string; evidence: string }[] }>(
        ...(['GET', `/api/campaign/${id}/skipped`] as const),
      );
      expect(data.map(({ reason }) => reason)).toEqual(['no_address', 'suppressed']);
      const left = await explain(id, 'nophone@example.com');
      expect(left).toMatchObject({ skipped: { reason: 'no_address' }, steps: [{ what: 'skipped' }] });
      const csv = await fetch(`${here.fanfare.baseUrl}/api/campaign/${id}/skipped.csv?reason=suppressed`, {
        headers: { authorization: `Bearer ${await here.api.bearer()}` },
      });
      expect((await csv.text()).split('\r\n')).toEqual([
        ...['contactId,channel,address,reason,evidence', expect.stringContaining(',sms,'), ''],
      ]);
    },
    LIMIT_MS,
  );

  it(
    'tells that retry-failed, or a cancel, moved the recipient',
    async () => {
      const [to, other] = ['+12025550194', newPhone()];
      const id = await campaign([{ phone: to, name: 'R' }], {});
      await untilTold(id, to, 'it did not arrive', ({ recipient }) => recipient?.state === 'undelivered');
      await here.api.expect('POST', `/api/campaign/${id}/retry-failed`, {});
      const told = await untilTold(
        ...([id, to, 'it is sent again'] as const),
        (one) => whats(one).filter((what) => what === 'handed_over').length === 2,
      );
      expect(whats(told)).toEqual(expect.arrayContaining(['receipt', 'moved']));
      expect(whats(told).indexOf('moved')).toBeGreaterThan(whats(told).indexOf('handed_over'));
      expect(whats(told).indexOf('moved')).toBeLessThan(whats(told).lastIndexOf('handed_over'));
      expect(told.steps.find(({ what }) => what === 'moved')?.data).toMatchObject({ by: 'retry-failed' });

      const canceled = await campaign([{ phone: other, name: 'C', timezone: 'Etc/UTC' }], {
        schedule: { startAt: inAMoment(3_600_000), recipientLocal: true },
      });
      await untilWhy(canceled, other, 'schedule');
      await here.api.expect('POST', `/api/campaign/${canceled}/cancel`, {});
      await until('it is closed', async () => (await campaignDetail(here.api, canceled)).finishedAt !== null);
      const ended = await explain(canceled, other);
      expect(ended).toMatchObject({ next: null, recipient: { state: 'canceled' } });
      expect(ended.steps.at(-1)).toMatchObject({ what: 'moved', data: { by: 'cancel' } });
    },
    LIMIT_MS,
  );

  it(
    'tells of an account that is refused, and when a message is tried on it',
    async () => {
      const to = 'bill+account@example.com';
      const id = await campaign([{ email: to }], { channel: ['email'], params: { NAME: 'A' } });
      const told = await untilWhy(id, to, 'account');
      expect(told.next?.at).toEqual(expect.any(String));
      expect(told.summary).toContain('account');
      const later = await untilTold(
        ...([id, to, 'it was tried'] as const),
        ({ next }) => next?.why === 'account' && Date.parse(next.at ?? '') > Date.parse(told.next?.at ?? ''),
      );
      expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(told.next?.at ?? ''));
      expect(later.recipient?.state).toBe('accepted');
      await here.api.expect('POST', `/api/campaign/${id}/cancel`, {});
    },
    LIMIT_MS,
  );
});
