import { LIMITS } from '../../src/domain/limits';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { type Certificate, makeCertificate } from '../support/certificate';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { type Smsc, startSmsc } from '../support/smsc';
import { until } from '../support/until';

const LIMIT_MS = 120_000;
const CONTACTS = 150;
/** The last three digits of a phone are what the centre goes by: these mean nothing to it. */
const FIRST_PHONE = 2_000_300;
const WINDOW = 10;
const KILLS_AT = [120, 420];

/** Every part is a text of its own, so that the centre's record shows what came twice. */
const bodyOf = (word: string, count: number): string =>
  `{{NAME}} ${Array.from({ length: count }, (_, n) => `${word}${n}`).join(' ')}`;
const TEXTS = [
  { parts: 1, word: 'short', count: 5 },
  { parts: 2, word: 'middle', count: 25 },
  { parts: 3, word: 'longest', count: 38 },
];

describe.each([
  ['brings references back', 'echoed'],
  ['knows no references', undefined],
] as const)(
  'a program that sends by SMPP over TLS to a centre that %s, killed among its submits',
  (_, reference) => {
    /** The next answer. */
    let losesAnswer = false;
    let certificate: Certificate;
    let smsc: Smsc;
    let here: Installation;

    beforeAll(async () => {
      const temporal = await freshNamespace();
      certificate = makeCertificate();
      smsc = await startSmsc({
        latencyMs: 20,
        tls: certificate,
        ...(reference ? { reference } : {}),
        cut() {
          const isLost = losesAnswer;
          losesAnswer = false;
          return isLost ? 'no-answer' : undefined;
        },
      });
      here = await Installation.start({
        TEMPORAL_ADDRESS: temporal.address,
        TEMPORAL_NAMESPACE: temporal.namespace,
        FANFARE_SMS_PROVIDER: 'smpp',
        FANFARE_SMPP_URL: smsc.url,
        FANFARE_SMPP_WINDOW: String(WINDOW),
        NODE_EXTRA_CA_CERTS: certificate.certFile,
      });
    }, LIMIT_MS);
    afterAll(async () => {
      await here?.remove();
      await smsc?.close();
      certificate?.remove();
    });

    /** How often the centre took each part, by person. */
    function record(word: string): Map<string, Map<string, number>> {
      const people = new Map<string, Map<string, number>>();
      for (const { to, octets } of smsc.taken) {
        const text = octets.toString('latin1').slice(octets[0] === 5 ? 6 : 0);
        if (!text.includes(word)) continue;
        const parts = people.get(`+${to}`) ?? new Map<string, number>();
        parts.set(text, (parts.get(text) ?? 0) + 1);
        people.set(`+${to}`, parts);
      }
      return people;
    }

    async function recipients(campaign: string): Promise<{ address: string; state: string }[]> {
      const path = `/api/campaign/${campaign}/recipients?channel=sms&limit=500`;
      return (await here.api.expect<{ data: { address: string; state: string }[] }>('GET', path)).data;
    }

    test(
      'loses nobody, sends nothing twice, and leaves no more in doubt than was under way',
      async () => {
        const list = await createList(here.api, CONTACTS, 'kill', FIRST_PHONE);
        const campaigns: { id: string; word: string; parts: number }[] = [];
        for (const { parts, word, count } of TEXTS) {
          const template = await createSmsTemplate(here.api, bodyOf(word, count));
          campaigns.push({ parts, word, id: await createSmsCampaign(here.api, list, template) });
        }
        for (const taken of KILLS_AT) {
          await until(`${taken} parts at the centre`, () => smsc.taken.length >= taken, 60_000);
          await here.fanfare.killGroup();
          await here.run();
        }
        for (const { id } of campaigns) await untilPhase(here.api, id, ['completed'], LIMIT_MS);
        await until('every receipt to be acknowledged', () => smsc.owed() === 0, 60_000);
        for (const { id } of campaigns) {
          await until(
            `receipts of ${id} to count`,
            async () => !(await campaignDetail(here.api, id)).counts.sms?.sent,
            60_000,
            100,
          );
        }

        const underWay = KILLS_AT.length * LIMITS.handoversInFlight * WINDOW;
        const inDoubt = async () => {
          const details = await Promise.all(campaigns.map(({ id }) => campaignDetail(here.api, id)));
          return details.reduce((sum, { counts }) => sum + (counts.sms?.unknown ?? 0), 0);
        };
        // Receipts of the killed process find their messages when it is clear what became of those.
        await until('receipts to be taken up', async () => (await inDoubt()) <= underWay, 60_000, 200);

        // Whose ids died unread are settled by what else their receipts say, as far as that is clear.
        await until(
          'every clear case to be settled',
          async () => (await clearCases()).length === 0,
          240_000,
          500,
        );
        let arrived = 0;
        for (const { id, word, parts } of campaigns) {
          const atCentre = record(word);
          const all = await recipients(id);
          expect(all).toHaveLength(CONTACTS);
          expect(new Set([...all.map(({ state }) => state), 'delivered', 'unknown'])).toEqual(
            new Set(['delivered', 'unknown']),
          );
          for (const { address, state } of all) {
            const taken = [...(atCentre.get(address)?.values() ?? [])];
            expect(taken.filter((count) => count > 1)).toEqual([]);
            if (state === 'delivered') expect([address, taken.length]).toEqual([address, parts]);
            else if (taken.length === parts) arrived += 1;
          }
        }
        process.stdout.write(
          `references ${reference ?? 'dropped'}: in doubt after ${KILLS_AT.length} kills: ${await inDoubt()} of ${3 * CONTACTS}, ${arrived} of them arrived\n`,
        );

        /** In doubt, although all of it arrived and, where no reference comes back, its person has no other in doubt. */
        async function clearCases(): Promise<string[]> {
          const inDoubtOf = new Map<string, { isWhole: boolean }[]>();
          for (const { id, word, parts } of campaigns) {
            const atCentre = record(word);
            for (const { address, state } of await recipients(id)) {
              if (state !== 'unknown') continue;
              const isWhole = atCentre.get(address)?.size === parts;
              inDoubtOf.set(address, [...(inDoubtOf.get(address) ?? []), { isWhole }]);
            }
          }
          return [...inDoubtOf].flatMap(([address, messages]) =>
            messages.some(({ isWhole }) => isWhole) && (reference || messages.length === 1) ? [address] : [],
          );
        }
      },
      4 * LIMIT_MS,
    );

    test(
      'settles by their receipts a message whose answer was lost, and those that were in one batch with it',
      async () => {
        const list = await createList(here.api, WINDOW, 'late');
        const template = await createSmsTemplate(here.api);
        const before = smsc.taken.length;
        losesAnswer = true;
        const id = await createSmsCampaign(here.api, list, template);
        await until('all to be told of', () => smsc.taken.length === before + WINDOW && smsc.owed() === 0);
        await here.fanfare.killGroup();
        await here.run();

        const delivered = async () => {
          const { counts } = await campaignDetail(here.api, id);
          return counts.sms?.delivered === WINDOW;
        };
        await until('all to be delivered', delivered, LIMIT_MS, 200);
        const { data } = await here.api.expect<{ data: { uid: string; state: string }[] }>(
          'GET',
          `/api/campaign/${id}/recipients?channel=sms&state=delivered`,
        );
        const histories = await Promise.all(
          data.map(async ({ uid }) => {
            const path = `/messages/${encodeURIComponent(uid)}`;
            const tracked = await here.api.expect<{ data: { events: { type: string }[] } }>('GET', path);
            return tracked.data.events.map(({ type }) => type).slice(-2);
          }),
        );
        expect(histories).toContainEqual(['unknown', 'delivered']);
      },
      2 * LIMIT_MS,
    );
  },
);
