import type { PersonExplanation } from '../../src/client/types';
import { STEPS } from '../../src/domain/explanation';
import { LIMITS } from '../../src/domain/limits';
import { campaignDetail, untilPhase } from '../support/api-client';
import { testsAtOnce } from '../support/at-once';
import { EXPLAINED_LIMIT_MS, Explanations, inAMoment, LATE_MS, timeOf, whats } from '../support/explanations';
import { runFanfare } from '../support/fanfare-command';
import { until } from '../support/until';

describe('the steps of a recipient, through the whole program', () => {
  let of: Explanations;
  const ready = async () => {
    of = await Explanations.start();
  };
  afterAll(() => of?.end());

  testsAtOnce(ready, EXPLAINED_LIMIT_MS, {
    async 'tells every step of a message that arrived'() {
      const [to, name] = [of.newPhone(), 'Ada'];
      const id = await of.campaign([{ phone: to, name }], {});
      await untilPhase(of.here.api, id, ['completed'], EXPLAINED_LIMIT_MS);
      const told = await of.untilTold(id, to, 'it is handed over', (one) =>
        whats(one).includes('handed_over'),
      );
      expect(whats(told).slice(0, 4)).toEqual(['frozen', 'answered', 'rendered', 'handed_over']);
      const [frozen, answered, rendered, handed] = told.steps;
      expect(frozen?.detail).toContain('“Readers”');
      expect(answered?.detail).toBe('The messaging service took the message.');
      expect(rendered?.data).toMatchObject({ templateId: of.sms, version: 1, segments: 1, encoding: 'gsm7' });
      expect(handed?.data).toMatchObject({ account: 'default-sms', attempt: 1 });
      expect(handed?.data?.providerId).toEqual(expect.any(String));
      expect(handed?.data?.milliseconds).toBeGreaterThanOrEqual(0);
      expect(told.recipient).toMatchObject({ address: to, channel: 'sms' });
      expect(told.others).toEqual([]);
      expect(JSON.stringify([told.summary, told.steps])).not.toContain(to);
      const one = await of.here.api.expect<{ data: PersonExplanation }>(
        'GET',
        `/api/campaign/${id}/recipients/${told.recipient?.id}`,
      );
      expect(one.data).toMatchObject({ recipient: { id: told.recipient?.id }, steps: expect.any(Array) });
      const shown = await runFanfare(['explain', id, to], { FANFARE_DATA_DIR: of.here.place.dataDir }).ended;
      expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('handed_over')]);
      const strangers = await of.here.api.call('GET', `/api/explain?campaign=${id}&to=%2B12025550000`);
      expect(strangers.status).toBe(404);
      for (const [query, code] of [
        ['', 'required'],
        [`&to=a@example.com&contact=${told.recipient?.contactId}`, 'not_applicable'],
      ]) {
        const { status, body } = await of.here.api.call('GET', `/api/explain?campaign=${id}${query}`);
        expect({ status, errors: body.errors }).toMatchObject({
          status: 422,
          errors: [{ path: 'to', code }],
        });
      }
    },

    async 'tells of a receipt, and of one that is still to come'() {
      const [arrived, silent] = ['ann+delivered@example.com', 'ann+silent@example.com'];
      const id = await of.campaign([{ email: arrived }, { email: silent }], {
        channel: ['email'],
        params: { NAME: 'A' },
      });
      const told = await of.untilTold(
        ...([id, arrived, 'it is delivered'] as const),
        ({ recipient }) => recipient?.state === 'delivered',
      );
      expect(told.next).toBeNull();
      expect(told.steps.at(-1)).toMatchObject({ what: 'receipt', code: 'delivered' });
      expect(told.summary).toContain('was delivered on 20');
      await untilPhase(of.here.api, id, ['completed'], EXPLAINED_LIMIT_MS);
      const waits = await of.untilWhy(id, silent, 'outcome');
      expect(waits).toMatchObject({ recipient: { state: 'sent' } });
    },

    async 'tells of a refusal with its code, and of hand-overs that fail for the moment'() {
      const [refused, down] = ['eve+reject@example.com', 'eve+down@example.com'];
      const id = await of.campaign([{ email: refused }, { email: down }], {
        channel: ['email'],
        params: { NAME: 'A' },
      });
      const told = await of.untilTold(
        id,
        refused,
        'it is refused',
        ({ recipient }) => recipient?.state === 'rejected',
      );
      expect(whats(told).slice(-3)).toEqual(['rendered', 'handed_over', 'answered']);
      expect(told.steps.at(-1)).toMatchObject({ code: told.recipient?.code });
      const planned = await of.untilTold(
        id,
        down,
        'it is tried again',
        ({ next }) => next?.why === 'retry' && !!next.at,
      );
      const step = planned.steps.at(-1);
      expect(step).toMatchObject({ what: 'retry_planned', data: { of: LIMITS.handoverAttempts } });
      const attempt = Number(step?.data?.attempt);
      const later = await of.untilTold(
        ...([id, down, 'the attempt is made'] as const),
        ({ steps }) => Number(steps.at(-1)?.data?.attempt) > attempt,
      );
      const lateMs = timeOf(later, 'retry_planned') - Date.parse(planned.next?.at ?? '');
      expect(lateMs).toBeGreaterThan(-100);
      expect(lateMs).toBeLessThan(LATE_MS * 2);
      await of.act(id, 'cancel');
    },

    async 'tells which entry kept a person out at the freeze, and which one later, also when it is lifted'() {
      const [before, after] = [of.newPhone(), of.newPhone()];
      const block = (address: string) =>
        of.here.api.expect('POST', '/api/suppression', {
          channel: 'sms',
          address,
          reason: 'asked by letter',
        });
      await block(before);
      const people = [before, after].map((phone) => ({ phone, name: 'S', externalId: `s${phone}` }));
      const id = await of.campaign([...people, { email: 'nophone@example.com', externalId: 'no-phone' }], {
        start: false,
      });
      await of.here.api.expect('PUT', `/holds/${id}`);
      await of.act(id, 'start');
      await of.untilWhy(id, after, 'hold');
      await block(after);
      await of.here.api.expect('DELETE', `/holds/${id}`);
      await of.untilTold(id, after, 'it is suppressed', ({ recipient }) => recipient?.state === 'suppressed');
      for (const address of [before, after]) {
        await of.here.api.expect(
          'DELETE',
          `/api/suppression?channel=sms&address=${encodeURIComponent(address)}`,
        );
      }
      const late = await of.explain(id, after);
      expect(late.steps.at(-1)).toMatchObject({
        what: 'suppressed',
        detail: expect.stringContaining('asked by letter'),
      });
      expect(late.next).toBeNull();
      const early = await of.explain(id, before);
      expect(early).toMatchObject({
        ...{ recipient: null, next: null, skipped: { channel: 'sms', reason: 'suppressed' } },
        steps: [{ what: 'suppressed', code: 'suppressed' }],
      });
      expect(early.skipped?.evidence).toContain('asked by letter');
      const { data } = await of.here.api.expect<{ data: { reason: string; evidence: string }[] }>(
        ...(['GET', `/api/campaign/${id}/skipped`] as const),
      );
      expect(data.map(({ reason }) => reason)).toEqual(['no_address', 'suppressed']);
      const left = await of.explain(id, 'nophone@example.com');
      expect(left).toMatchObject({ skipped: { reason: 'no_address' }, steps: [{ what: 'skipped' }] });
      const csv = await fetch(`${of.here.fanfare.baseUrl}/api/campaign/${id}/skipped.csv?reason=suppressed`, {
        headers: { authorization: `Bearer ${await of.here.api.bearer()}` },
      });
      expect((await csv.text()).split('\r\n')).toEqual([
        ...['contactId,channel,address,reason,evidence', expect.stringContaining(',sms,'), ''],
      ]);
    },

    async 'tells that retry-failed, or a cancel, moved the recipient'() {
      const [to, other] = ['+12025550194', of.newPhone()];
      const id = await of.campaign([{ phone: to, name: 'R' }], {});
      await of.untilTold(id, to, 'it did not arrive', ({ recipient }) => recipient?.state === 'undelivered');
      await of.act(id, 'retry-failed');
      const told = await of.untilTold(
        ...([id, to, 'it is sent again'] as const),
        (one) => whats(one).filter((what) => what === 'handed_over').length === 2,
      );
      expect(whats(told)).toEqual(expect.arrayContaining(['receipt', 'moved']));
      expect(whats(told).indexOf('moved')).toBeGreaterThan(whats(told).indexOf('handed_over'));
      expect(whats(told).indexOf('moved')).toBeLessThan(whats(told).lastIndexOf('handed_over'));
      expect(told.steps.find(({ what }) => what === 'moved')?.data).toMatchObject({ by: 'retry-failed' });

      const canceled = await of.campaign([{ phone: other, name: 'C', timezone: 'Etc/UTC' }], {
        schedule: { startAt: inAMoment(3_600_000), recipientLocal: true },
      });
      await of.untilWhy(canceled, other, 'schedule');
      await of.act(canceled, 'cancel');
      await until(
        'it is closed',
        async () => (await campaignDetail(of.here.api, canceled)).finishedAt !== null,
      );
      const ended = await of.explain(canceled, other);
      expect(ended).toMatchObject({ next: null, recipient: { state: 'canceled' } });
      expect(ended.steps.at(-1)).toMatchObject({ what: 'moved', data: { by: 'cancel' } });
    },
  });

  // A step that is added needs a test here.
  test('every step of the catalogue was told', () => {
    expect([...of.seen.steps].sort()).toEqual([...STEPS].sort());
  });
});
