import { createHash } from 'node:crypto';
import { readHandOvers } from '../../src/providers/simulator/simulator-record';
import { type CampaignDetail, campaignDetail, createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const LIMIT_MS = 120_000;

interface Recipient {
  externalId?: string;
  email?: string;
  phone?: string;
  params?: Record<string, string>;
}

/** Recipients that a campaign brings itself, under every rule that holds for those of lists. */
describe('the own audience of a campaign, through the whole program', () => {
  let here: Installation;
  let sms: string;
  let email: string;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
    sms = await createSmsTemplate(here.api, 'Hello');
    const mail = { templateName: 'mail', channel: 'email', subject: 'Hello', body: '<p>Hello {{NAME}}</p>' };
    email = (await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', mail)).template.id;
  }, LIMIT_MS);
  afterAll(() => here?.remove());

  async function send(
    channel: ('sms' | 'email')[],
    recipients: Recipient[],
    more: object = {},
  ): Promise<string> {
    const settings = {
      sms: { shortCode: '12345', templateId: sms, version: 1 },
      email: { fromEmail: 'news@example.com', templateId: email, version: 1 },
    };
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      ...{ campaignId: null, name: 'Own', channel, recipients, params: { NAME: 'you' } },
      settings: Object.fromEntries(channel.map((one) => [one, settings[one]])),
      ...more,
    });
    return data.id;
  }
  const completed = (id: string): Promise<CampaignDetail> => untilPhase(here.api, id, ['completed'], 60_000);
  /** How often the carrier was given something for the address. */
  const taken = (channel: 'sms' | 'email', address: string) => {
    const to = createHash('sha256').update(address).digest('hex');
    return [...readHandOvers(here.recordDir, channel)].filter((one) => to.startsWith(one.to)).length;
  };
  const recipientsOf = async (id: string) => {
    const path = `/api/campaign/${id}/recipients`;
    const { data } = await here.api.expect<{
      data: { address: string; state: string; code: string | null }[];
    }>('GET', path);
    return Object.fromEntries(data.map(({ address, state, code }) => [address, [state, code]]));
  };

  test(
    'is held to frequency caps together with every other campaign',
    async () => {
      await here.api.expect('PUT', '/api/policy', { caps: [{ channels: ['sms'], max: 1, days: 1 }] });
      const [ann, bob, cid] = ['+12025550190', '+12035550190', '+12055550190'];
      await completed(await send(['sms'], [{ phone: ann }, { phone: bob }]));
      const second = await send(['sms'], [{ phone: bob }, { phone: cid }]);
      await until('the cap is met', async () => (await recipientsOf(second))[bob]?.[0] === 'waiting');
      await until('the other is sent', async () => taken('sms', cid) === 1);
      expect((await recipientsOf(second))[bob]).toEqual(['waiting', 'frequency_cap']);
      expect([ann, bob, cid].map((phone) => taken('sms', phone))).toEqual([1, 1, 1]);
      await here.api.expect('PUT', '/api/policy', {});
      await completed(second);
      expect(taken('sms', bob)).toBe(2);
    },
    LIMIT_MS,
  );

  test(
    'leaves out whom an excluded campaign has reached, by contact and by address',
    async () => {
      const [ann, bob, cid] = [
        'ann+delivered@example.com',
        'bob+delivered@example.com',
        'cid+delivered@example.com',
      ];
      const first = await send(['email'], [{ email: ann }, { externalId: 'bob', email: bob }]);
      await completed(first);
      const moved = 'bob.moved+delivered@example.com';
      const again = [
        { externalId: 'ann2', email: ann.toUpperCase() },
        { externalId: 'bob', email: moved },
        { email: cid },
      ];
      const ended = await completed(await send(['email'], again, { exclude: { campaignIds: [first] } }));
      expect([ended.counts.email?.total, ended.skipped.email?.excluded]).toEqual([1, 2]);
      expect([ann, moved, cid].map((address) => taken('email', address))).toEqual([1, 0, 1]);
    },
    LIMIT_MS,
  );

  test(
    'goes from channel to channel, contact by contact',
    async () => {
      const reached = { email: 'dee+delivered@example.com', phone: '+12065550190' };
      const bounced = { email: 'eve+bounce@example.com', phone: '+12075550190' };
      const mailless = { phone: '+12085550190' };
      const id = await send(['email', 'sms'], [reached, bounced, mailless], {
        ...{ strategy: 'fallback', fallbackAfterSeconds: 30 },
      });
      const ended = await completed(id);
      expect([ended.counts.email?.total, ended.counts.sms?.total]).toEqual([2, 3]);
      expect([reached, bounced, mailless].map(({ phone }) => taken('sms', phone))).toEqual([0, 1, 1]);
      expect((await recipientsOf(id))[reached.phone]?.[0]).toBe('canceled');
    },
    LIMIT_MS,
  );

  test(
    'is the audience of every occurrence of a recurring campaign, with what was added in between',
    async () => {
      const [fay, gus] = ['+12095550190', '+12125550190'];
      const id = await send(['sms'], [{ externalId: 'fay', phone: fay }], {
        schedule: { cron: '0 4 1 1 *' },
      });
      const occur = async (number: number) => {
        await here.api.expect('POST', `/api/campaign/${id}/start`, {});
        const runs = async () =>
          (await here.api.expect<{ data: { phase: string }[] }>('GET', `/api/campaign/${id}/runs`)).data;
        await until(
          `occurrence ${number} is over`,
          async () => {
            const found = await runs();
            return found.length === number && found[0]?.phase === 'completed';
          },
          60_000,
        );
      };
      await occur(1);
      await here.api.expect('POST', `/api/campaign/${id}/recipients`, { recipients: [{ phone: gus }] });
      await occur(2);
      expect([taken('sms', fay), taken('sms', gus)]).toEqual([2, 1]);
      expect(await campaignDetail(here.api, id)).toMatchObject({ phase: 'scheduled', inline: 2 });
      await here.api.expect('POST', `/api/campaign/${id}/cancel`, {});
    },
    LIMIT_MS,
  );
});
