import { inParallel } from '../../src/domain/in-parallel';
import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { until } from '../support/until';

const SENDS = 120;
const PLANNED_MS = 20_000;
const LIMIT_MS = 120_000;

interface Send {
  id: string;
  finishedAt: string | null;
}

/** What was planned for one moment is woken in turn by a process, which may die with most of it in its memory. */
describe('a process that is killed when hundreds of planned sends and campaigns are due', () => {
  let here: Installation;
  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '10' });
  }, 120_000);
  afterAll(() => here?.remove());

  test('loses none of them and sends none twice', async () => {
    const template = await createSmsTemplate(here.api);
    const list = await createList(here.api, 20);
    const due = new Date(Date.now() + PLANNED_MS);
    const schedule = { startAt: due.toISOString() };
    const campaigns = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        createSmsCampaign(here.api, list, template, { name: `planned ${i}`, schedule }),
      ),
    );
    const sends = new Array<string>(SENDS);
    await inParallel([...sends.keys()], 20, async (i) => {
      const { data } = await here.api.expect<{ data: Send }>('POST', '/api/send', {
        ...{ channel: 'sms', uid: `planned-${i}`, to: '+12125550190', from: '12345' },
        ...{ 'template-id': template, params: { NAME: 'Ada' }, sendAt: due.toISOString() },
      });
      sends[i] = data.id;
    });
    expect(Date.now()).toBeLessThan(due.getTime());
    const handedOver = () => here.record('sms').handOvers;
    expect(handedOver()).toBe(0);
    await until('some are handed over', async () => handedOver() > 20, LIMIT_MS, 20);
    expect(handedOver()).toBeLessThan(SENDS + 200);
    await here.fanfare.killGroup();
    await here.run();
    for (const id of campaigns) await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    const isOver = async (id: string) =>
      (await here.api.expect<{ data: Send }>('GET', `/api/send/${id}`)).data.finishedAt !== null;
    for (const id of sends) await until('each send has its end', () => isOver(id), LIMIT_MS, 100);
    expect(here.record('sms').duplicateUids).toEqual([]);
  }, 400_000);
});
