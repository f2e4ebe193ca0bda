import { campaignDetail, createList, createSmsCampaign, createSmsTemplate } from '../support/api-client';
import { runFanfare } from '../support/fanfare-command';
import { Installation } from '../support/installation';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const SETTLED_MS = 60_000;
const PEOPLE = 300;

describe('the policy of a workspace, through the whole program', () => {
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
  }, 120_000);

  afterAll(() => here?.remove());

  const counts = async (id: string) => (await campaignDetail(here.api, id)).counts.sms ?? {};
  /** Who is not waiting is, or was, sent to. */
  const reached = async (id: string) => {
    const { total = 0, waiting = 0, pending = 0, expired = 0 } = await counts(id);
    return total - waiting - pending - expired;
  };

  it(
    'gives each of many people one message of two campaigns that are sent at once, and lets the other wait',
    async () => {
      await here.api.expect('PUT', '/api/policy', { caps: [{ channels: ['sms'], max: 1, days: 1 }] });
      const list = await createList(here.api, PEOPLE, 'cap');
      const template = await createSmsTemplate(here.api);
      const ids = await Promise.all([1, 2].map(() => createSmsCampaign(here.api, list, template)));
      await until(
        'everybody was sent to, or waits',
        async () => {
          const all = await Promise.all(ids.map(counts));
          const settled = (one: Record<string, number>) => (one.total ?? 0) > 0 && (one.pending ?? 0) === 0;
          return (
            all.every(settled) && (await reached(ids[0] ?? '')) + (await reached(ids[1] ?? '')) === PEOPLE
          );
        },
        SETTLED_MS,
      );
      const waiting = await Promise.all(ids.map(async (id) => (await counts(id)).waiting ?? 0));
      expect(waiting.reduce((sum, one) => sum + one)).toBe(PEOPLE);
      const { data } = await here.api.expect<{ data: { contactId: string; code: string | null }[] }>(
        'GET',
        `/api/campaign/${ids[(waiting[0] ?? 0) > 0 ? 0 : 1]}/recipients?state=waiting&limit=1`,
      );
      expect(data[0]?.code).toBe('frequency_cap');
      const timeline = await here.api.expect<{ data: { kind: string; messages?: unknown[] }[] }>(
        'GET',
        `/api/contact/${data[0]?.contactId}/timeline`,
      );
      expect(timeline.data.map(({ kind }) => kind).sort()).toEqual(['cap_place', 'recipient', 'recipient']);
      expect(timeline.data.flatMap(({ messages }) => messages ?? [])).toHaveLength(1);
      const shown = await runFanfare(['contacts', 'timeline', data[0]?.contactId ?? ''], {
        FANFARE_DATA_DIR: here.place.dataDir,
      }).ended;
      expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('waiting (frequency_cap)')]);
      for (const id of ids) await here.api.call('POST', `/api/campaign/${id}/cancel`, {});
    },
    SETTLED_MS + 30_000,
  );

  it(
    'lets nobody be sent to in its quiet hours, except by what is transactional',
    async () => {
      await here.api.expect('PUT', '/api/policy', {
        quietHours: { from: inHours(-1), to: inHours(3), timezone: 'Etc/UTC', channels: ['sms'] },
      });
      const list = await createList(here.api, 5, 'quiet');
      const template = await createSmsTemplate(here.api);
      const held = await createSmsCampaign(here.api, list, template);
      const sent = await createSmsCampaign(here.api, list, template, { class: 'transactional' });
      await until('the transactional one is sent', async () => (await reached(sent)) === 5, SETTLED_MS);
      expect(await reached(held)).toBe(0);
      await here.api.expect('PUT', '/api/policy', {});
      await here.api.expect('POST', `/api/campaign/${held}/cancel`, {});
    },
    SETTLED_MS + 30_000,
  );

  it(
    'lets those go who wait, messages and calls, when its quiet hours are lifted',
    async () => {
      const people = (first: number) =>
        Array.from({ length: 5 }, (_, i) => ({ phone: `+1202${first + i}`, name: `P ${i}` }));
      // Its calls are taken on one by one, so that some are put off which nobody had asked about hours for.
      const slow = await createVoiceCampaign(here.api, people(5_550_100), {
        delivery: { ratePerSecond: 0.5 },
      });
      await until('its first call is placed', async () => (await called(slow)) > 0, SETTLED_MS);
      await here.api.expect('PUT', '/api/policy', {
        // By the clocks of Washington and by UTC it is these hours now.
        quietHours: { from: inHours(-8), to: inHours(3), timezone: 'recipient', channels: ['sms', 'voice'] },
      });
      const template = await createSmsTemplate(here.api);
      const sms = await createSmsCampaign(here.api, await createList(here.api, 5, 'lifted'), template);
      const voice = await createVoiceCampaign(here.api, people(5_550_200));
      for (const id of [sms, voice]) {
        await until(
          'it waits',
          async () => (await campaignDetail(here.api, id)).phase === 'running',
          SETTLED_MS,
        );
      }
      await until('calls are put off', async () => (await codes(slow)).includes('quiet_hours'), SETTLED_MS);
      const { data: send } = await here.api.expect<{ data: { id: string } }>('POST', '/api/send', {
        ...{ channel: 'sms', uid: 'put-off', to: '+12025550199', from: '12345' },
        ...{ 'template-id': template, params: { NAME: 'A' } },
      });
      const sendIs = async () =>
        (await here.api.expect<{ data: { code: string | null } }>('GET', `/api/send/${send.id}`)).data.code;
      await until('the send waits', async () => (await sendIs()) === 'quiet_hours', SETTLED_MS);
      expect([await reached(sms), await called(voice)]).toEqual([0, 0]);
      expect(await called(slow)).toBeLessThan(5);
      await here.api.expect('PUT', '/api/policy', {});
      await until('the messages are sent', async () => (await reached(sms)) === 5, SETTLED_MS);
      for (const id of [voice, slow]) {
        await until('the calls are placed', async () => (await called(id)) === 5, SETTLED_MS);
      }
      await until('the send is sent', async () => (await sendIs()) === null, SETTLED_MS);
    },
    6 * SETTLED_MS,
  );

  interface Called {
    code: string | null;
    calls: unknown[];
  }
  const callsOf = async (id: string) =>
    (await here.api.expect<{ data: Called[] }>('GET', `/api/campaign/${id}/recipients?channel=voice`)).data;
  const called = async (id: string) => (await callsOf(id)).filter(({ calls }) => calls.length > 0).length;
  const codes = async (id: string) => (await callsOf(id)).map(({ code }) => code);
});

/** `HH:MM` in UTC. */
function inHours(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
}
