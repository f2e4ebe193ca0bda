import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { freePort } from '../support/free-port';
import { Installation } from '../support/installation';
import { type Kannel, startKannel } from '../support/kannel';
import { freshNamespace } from '../support/namespaces';
import { type Smsc, startSmsc } from '../support/smsc';
import { until } from '../support/until';

/** How soon after a STOP nothing more may be handed over. */
const OBEYED_MS = 2_000;
const LIMIT_MS = 120_000;
const SECRET = 'inbound-secret';
/** The last three digits of a phone are what the centre goes by: those up to 099 mean nothing to it. */
const CONTACTS = 100;
const RATE = 10;
const PERSON = '+12022000095';
/** Who opted out with the operator: one is told of in the answer, the other in the receipt, with err:034. */
const REFUSED = '+12022001001';
const UNDELIVERED = '+12022001121';

/** The whole program with an SMS centre behind it, reached by SMPP or through a Kannel that the machine has. */
export function describePhoneThatWritesStop(provider: 'kannel' | 'smpp'): void {
  describe(`a phone that writes STOP, with SMS by ${provider}`, () => describeWith(provider));
}

function describeWith(provider: 'kannel' | 'smpp'): void {
  let smsc: Smsc;
  let kannel: Kannel | undefined;
  let here: Installation;

  beforeAll(async () => {
    const temporal = await freshNamespace();
    const port = await freePort();
    smsc = await startSmsc({ status: (to) => (to === REFUSED.slice(1) ? 0x455 : 0) });
    if (provider === 'kannel') {
      const getUrl = `http://127.0.0.1:${port}/inbound/kannel/${SECRET}`;
      kannel = await startKannel({ smscPort: smsc.port, getUrl });
    }
    here = await Installation.start({
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
      FANFARE_HTTP_PORT: String(port),
      FANFARE_INBOUND_SECRET: SECRET,
      FANFARE_SMS_PROVIDER: provider,
      FANFARE_SMS_OPTED_OUT_CODES: '0x455,34',
      ...(kannel ? { FANFARE_KANNEL_URL: kannel.url } : { FANFARE_SMPP_URL: smsc.url }),
    });
    await until('a session with the centre', () => smsc.sessions() > 0);
  }, LIMIT_MS);
  afterAll(async () => {
    await here?.remove();
    await kannel?.close();
    await smsc?.close();
  });

  const digits = PERSON.slice(1);
  const write = (text: string): void => smsc.say({ from: digits, to: '12345', text });
  const told = (text: RegExp) =>
    smsc.taken.filter(({ to, octets }) => to === digits && text.test(octets.toString('latin1'))).length;
  const blocks = async () =>
    (
      await here.api.expect<{ data: { address: string; source: string }[] }>(
        'GET',
        '/api/suppression?channel=sms',
      )
    ).data;
  const suppressedIn = async (campaign: string) => {
    const { data } = await here.api.expect<{ data: { address: string }[] }>(
      'GET',
      `/api/campaign/${campaign}/recipients?channel=sms&state=suppressed`,
    );
    return data.map(({ address }) => address);
  };

  test(
    'is left alone by the running campaign and the next, and with START gets the one after',
    async () => {
      const list = await createList(here.api, CONTACTS, 'stop');
      const template = await createSmsTemplate(here.api);
      const begin = (more?: Record<string, unknown>) => createSmsCampaign(here.api, list, template, more);
      const running = await begin({ delivery: { ratePerSecond: RATE } });
      await until('the first to be sent', () => smsc.taken.length > 0, 60_000);

      const begun = performance.now();
      write('STOP');
      await until('the block', async () => (await blocks()).length > 0, OBEYED_MS, 20);
      const tookMs = Math.round(performance.now() - begun);
      process.stdout.write(`${provider}: STOP to block in ${tookMs} ms\n`);
      expect(tookMs).toBeLessThan(OBEYED_MS);
      expect(await blocks()).toMatchObject([{ address: PERSON, source: 'keyword' }]);

      await untilPhase(here.api, running, ['completed'], LIMIT_MS);
      expect(await suppressedIn(running)).toEqual([PERSON]);
      expect(told(/^Hello/)).toBe(0);
      await until('the confirmation', () => told(/^You will get no more/) > 0);

      const next = await begin();
      await untilPhase(here.api, next, ['completed'], LIMIT_MS);
      expect((await campaignDetail(here.api, next)).skipped).toMatchObject({ sms: { suppressed: 1 } });
      expect(told(/^Hello/)).toBe(0);
      expect(told(/^You will get no more/)).toBe(1);

      write('START');
      await until('the block to be lifted', async () => (await blocks()).length === 0);
      await until('that to be confirmed', () => told(/^You will get messages/) > 0);
      const third = await begin();
      await untilPhase(here.api, third, ['completed'], LIMIT_MS);
      expect((await campaignDetail(here.api, third)).skipped).toMatchObject({ sms: { suppressed: 0 } });
      expect(told(/^Hello/)).toBe(1);
      const everybody = smsc.taken.filter(({ octets }) => /^Hello/.test(octets.toString('latin1')));
      expect(everybody).toHaveLength(3 * CONTACTS - 2);
    },
    3 * LIMIT_MS,
  );

  test(
    'is blocked as well who opted out with the operator, by either of its codes',
    async () => {
      const template = await createSmsTemplate(here.api, 'Hello');
      for (const to of [REFUSED, UNDELIVERED]) {
        await here.api.expect('POST', '/send-msg', {
          channel: 'sms',
          uid: to.slice(1),
          to,
          from: '12345',
          'template-id': template,
        });
      }
      const found = await until('both blocks', async () => {
        const all = await blocks();
        return all.length === 2 && all;
      });
      expect(new Set(found.map(({ address, source }) => `${address} ${source}`))).toEqual(
        new Set([`${REFUSED} provider`, `${UNDELIVERED} provider`]),
      );
      for (const uid of [REFUSED, UNDELIVERED]) {
        const { data } = await here.api.expect<{ data: { events: { code?: string }[] } }>(
          'GET',
          `/messages/${uid.slice(1)}`,
        );
        expect(data.events.map(({ code }) => code)).toContain('opted_out');
      }
    },
    LIMIT_MS,
  );
}
