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
  const recipients = async (id: string) =>
    (await here.api.expect<{ data: Listed[] }>('GET', `/api/campaign/${id}/recipients?limit=${PEOPLE}`)).data;
  /** Who is not waiting is, or was, sent to. */
  const reached = async (id: string) => {
    const { total = 0, waiting = 0, pending = 0, expired = 0 } = await counts(id);
    return total - waiting - pending - expired;
  };

  test(
    'gives each of many people one message of two campaigns that are sent at once, and lets the other wait',
    async () => {
      await here.api.expect('PUT', '/api/policy', { caps: [{ channels: ['sms'], max: 1, days: 1 }] });
      const list = await createList(here.api, PEOPLE, 'cap');
      const template = await createSmsTemplate(here.api);
      const ids = await Promise.all([1, 2].map(() => createSmsCampaign(here.api, list, template)));
      // Somebody whose message was refused, or expired, has his place back: the other campaign may have him then,
      // and whether it comes to that depends on how fast each of the two is.
      const isOpen = ({
        total = 0,
        pending = 0,
        sending = 0,
        accepted = 0,
        sent = 0,
      }: Record<string, number>) => total < PEOPLE || pending + sending + accepted + sent > 0;
      await until(
        'everybody waits, or it is known what became of him',
        async () => !(await Promise.all(ids.map(counts))).some(isOpen),
        SETTLED_MS,
        100,
      );
      const both = new Map<string, Listed[]>();
      for (const row of (await Promise.all(ids.map(recipients))).flat()) {
        both.set(row.contactId, [...(both.get(row.contactId) ?? []), row]);
      }
      const pairs = [...both.values()].map((rows) => rows.map(standing).sort().join(' and '));
      const possible = [
        'got one and waits',
        'gave back and got one',
        'gave back and waits',
        'gave back and gave back',
      ];
      expect(pairs.filter((pair) => !possible.includes(pair))).toEqual([]);
      expect(pairs.filter((pair) => pair === possible[0]).length).toBeGreaterThan(0.9 * PEOPLE);
      const held = [...both.values()].flatMap((rows) =>
        rows.some((row) => standing(row) === 'got one')
          ? rows.filter(({ code }) => code === 'frequency_cap')
          : [],
      );
      const contactId = held[0]?.contactId ?? '';
      const timeline = await here.api.expect<{ data: { kind: string; messages?: unknown[] }[] }>(
        'GET',
        `/api/contact/${contactId}/timeline`,
      );
      expect(timeline.data.map(({ kind }) => kind).sort()).toEqual(['cap_place', 'recipient', 'recipient']);
      expect(timeline.data.flatMap(({ messages }) => messages ?? [])).toHaveLength(1);
      const shown = await runFanfare(['contacts', 'timeline', contactId], {
        FANFARE_DATA_DIR: here.place.dataDir,
      }).ended;
      expect([shown.code, shown.out]).toEqual([0, expect.stringContaining('waiting (frequency_cap)')]);
      for (const id of ids) await here.api.call('POST', `/api/campaign/${id}/cancel`, {});
    },
    SETTLED_MS + 30_000,
  );

  test(
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

  test(
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

interface Listed {
  contactId: string;
  state: string;
  code: string | null;
}

/** What became of a message that nobody got, and that counts for nothing. */
const GAVE_BACK = ['rejected', 'expired', 'suppressed', 'canceled'];

function standing({ state }: Listed): 'waits' | 'gave back' | 'got one' {
  if (state === 'waiting') return 'waits';
  return GAVE_BACK.includes(state) ? 'gave back' : 'got one';
}

/** `HH:MM` in UTC. */
function inHours(hours: number): string {
  return new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
}
