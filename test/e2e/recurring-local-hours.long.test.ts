import { Client, Connection } from '@temporalio/client';
import { campaignScheduleId } from '../../src/domain/ids';
import { campaignDetail, createSmsCampaign, createSmsTemplate } from '../support/api-client';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

interface Run {
  id: string;
  phase: string;
  localTime: string | null;
  counts: Record<string, Record<string, number>>;
}

const MINUTE_MS = 60_000;

/** Beside recurring.test.ts, because it waits for minutes of its own. */
describe('a recurring campaign at the hour of each recipient', () => {
  let here: Installation;
  let connection: Connection;
  let client: Client;

  beforeAll(async () => {
    const temporal = await freshNamespace();
    here = await Installation.start({
      FANFARE_SIMULATOR_LATENCY_MS: '20',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    });
    connection = await Connection.connect({ address: temporal.address });
    client = new Client({ connection, namespace: temporal.namespace });
  }, 120_000);

  afterAll(async () => {
    await connection?.close();
    await here?.remove();
  });

  const runs = async (id: string) =>
    (await here.api.expect<{ data: Run[] }>('GET', `/api/campaign/${id}/runs`)).data;
  const scheduleOf = (id: string) => client.schedule.getHandle(campaignScheduleId(id));

  test(
    'reaches them one occurrence beside the other',
    async () => {
      await until('a minute that has time left', () => Date.now() % MINUTE_MS < 40_000, MINUTE_MS, 100);
      const due = Math.ceil(Date.now() / MINUTE_MS) * MINUTE_MS;
      const walls = [due, due + MINUTE_MS].map((at) => new Date(at + 14 * 3_600_000));
      const { data: list } = await here.api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
        name: 'own hours',
      });
      const zones = ['Pacific/Kiritimati', 'Etc/GMT-13', 'Etc/GMT+12'];
      await here.api.expect('POST', `/api/contact-list/${list.id}/contacts`, {
        contacts: zones.map((timezone, i) => ({ phone: `+1202555190${i}`, name: `P ${i}`, timezone })),
      });
      const id = await createSmsCampaign(here.api, list.id, await createSmsTemplate(here.api), {
        schedule: {
          cron: `${walls.map((wall) => wall.getUTCMinutes()).join(',')} ${[
            ...new Set(walls.map((wall) => wall.getUTCHours())),
          ].join(',')} * * *`,
          timezone: 'Europe/Berlin',
          recipientLocal: true,
        },
      });
      const localTimes = walls.map((wall) => wall.toISOString().slice(0, 16));
      expect(await campaignDetail(here.api, id)).toMatchObject({
        nextRunAt: new Date(due).toISOString(),
        nextLocalTime: localTimes[0],
      });
      expect((await scheduleOf(id).describe()).info.nextActionTimes[0]?.toISOString()).toBe(
        new Date(due).toISOString(),
      );
      const reached = (run: Run) =>
        Object.entries(run.counts.sms ?? {}).some(
          ([state, count]) =>
            ['accepted', 'sent', 'delivered', 'undelivered', 'failed', 'unknown'].includes(state) &&
            count > 0,
        );
      await until(
        'both have reached their first recipient',
        async () => {
          const all = await runs(id);
          return all.length === 2 && all.every((run) => run.phase === 'running' && reached(run));
        },
        4 * MINUTE_MS,
        500,
      );
      const [second, first] = await runs(id);
      expect([first?.localTime, second?.localTime]).toEqual(localTimes);
      expect([first, second].map((run) => run?.counts.sms)).toMatchObject(
        [first, second].map(() => ({ total: 3, pending: 2 })),
      );
      const { data } = await here.api.expect<{ data: { dueAt: string }[] }>(
        'GET',
        `/api/campaign/${id}/recipients?runId=${first?.id}`,
      );
      // To the minute: whoever is due as the run begins is due when its audience is frozen.
      const dues = data.map(({ dueAt }) => Math.floor((Date.parse(dueAt) - due) / MINUTE_MS));
      expect(dues).toEqual([0, 60, 26 * 60]);
      await here.api.expect('POST', `/api/campaign/${id}/pause`);
      expect((await runs(id)).map(({ phase }) => phase)).toEqual(['paused', 'paused']);
      await here.api.expect('POST', `/api/campaign/${id}/cancel`);
      await until(
        'both are canceled',
        async () => (await runs(id)).every(({ phase }) => phase === 'canceled'),
        MINUTE_MS,
      );
    },
    6 * MINUTE_MS,
  );
});
