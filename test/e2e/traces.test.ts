import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { TraceSink } from '../support/trace-sink';
import { until } from '../support/until';

const LIMIT_MS = 120_000;
const PEOPLE = 200;

describe('traces', () => {
  const sink = new TraceSink();
  let here: Installation;

  beforeAll(async () => {
    here = await Installation.start({
      OTEL_EXPORTER_OTLP_ENDPOINT: await sink.listen(),
      OTEL_SERVICE_NAME: 'fanfare-under-test',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment=test',
      OTEL_BSP_SCHEDULE_DELAY: '200',
    });
  }, LIMIT_MS);

  afterAll(async () => {
    await here?.remove();
    await sink.close();
  }, LIMIT_MS);

  test(
    'lead from the request that creates a campaign to its hand-overs',
    async () => {
      const list = await createList(here.api, PEOPLE);
      const id = await createSmsCampaign(here.api, list, await createSmsTemplate(here.api));
      const { counts } = await untilPhase(here.api, id, ['completed'], LIMIT_MS);
      expect(counts.sms).toMatchObject({ total: PEOPLE, pending: 0, waiting: 0 });

      const named = (name: string) => sink.spans.filter((span) => span.name === name);
      await until('the campaign has been told', () => named('RunWorkflow:campaignRun').length > 0, LIMIT_MS);
      const [created] = named('POST /api/campaign');
      expect(created?.attributes).toMatchObject({
        'http.route': '/api/campaign',
        'http.response.status_code': 201,
      });
      const trace = sink.spans.filter(({ traceId }) => traceId === created?.traceId);
      const handOver = trace.find(({ name }) => name === 'HandOver:sms');
      expect(handOver && sink.lineOf(handOver)).toEqual([
        'HandOver:sms',
        'POST /send-msg/bulk',
        'RunActivity:sendPage',
        'StartActivity:sendPage',
        'RunWorkflow:channelShard',
        'StartChildWorkflow:channelShard',
        'RunWorkflow:campaignRun',
        'StartWorkflow:campaignRun',
        'POST /api/campaign',
      ]);
      expect(handOver?.attributes).toMatchObject({
        'fanfare.channel': 'sms',
        'fanfare.provider': 'simulator',
        'fanfare.account': 'default-sms',
      });
      expect(new Set(sink.spans.map(({ service }) => service))).toEqual(new Set(['fanfare-under-test']));
      expect([...sink.contentTypes]).toEqual(['application/json']);
    },
    LIMIT_MS,
  );

  test('hold no address, no secret and no path', async () => {
    const { data } = await here.api.expect<{ data: { id: string } }>('POST', '/api/send', {
      ...{ channel: 'sms', uid: 'traced-1', to: '+12125550190', from: '12345', params: { NAME: 'Ada' } },
      'template-id': await createSmsTemplate(here.api),
    });
    await here.api.call('GET', '/u/a-token-unknown?to=ada@example.com');
    await here.api.expect('GET', `/api/send/${data.id}`);
    await until('the last request has been told', () =>
      sink.spans.some(({ name }) => name === 'GET /api/send/:id'),
    );
    const all = sink.texts.join('\n');
    expect(all).not.toMatch(/@example\.com|\+1?202|12125550190|a-token-unknown/);
    for (const secret of [here.credentials.client.secret, here.credentials.apiKey])
      expect(all).not.toContain(secret);
  });
});
