import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { messageUid, outcomeFeedWorkflowId } from '../../src/domain/ids';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/services';
import { until } from '../support/until';

const LIMIT_MS = 60_000;
/** After the country and the area: one whose receipt is late (docs/simulator.md). */
const LATE_PHONE = 5_550_198;

describe('outcomes of which nobody is told any more, through the whole program', () => {
  let here: Installation;
  let connection: Connection;
  let feed: WorkflowHandle;

  beforeAll(async () => {
    const temporal = await freshNamespace();
    here = await Installation.start({
      // The last receipt of one that is late comes 1 to 20 seconds after it was sent.
      FANFARE_SIMULATOR_LATENCY_MS: '100',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: temporal.namespace,
    });
    connection = await Connection.connect({ address: temporal.address });
    const { workflow } = new Client({ connection, namespace: temporal.namespace });
    feed = workflow.getHandle(outcomeFeedWorkflowId(here.credentials.workspace.id));
  }, 120_000);

  afterAll(async () => {
    await connection?.close();
    await here?.remove();
  });

  /** The next look is that of the next start, instead of in a minute. */
  async function restart(): Promise<void> {
    await here.fanfare.stop();
    await here.run();
  }

  it('are taken in when the run has ended and its feed too', async () => {
    const listId = await createList(here.api, 1, 'late', LATE_PHONE);
    const id = await createSmsCampaign(here.api, listId, await createSmsTemplate(here.api));
    const { workflowId } = await untilPhase(here.api, id, ['completed'], LIMIT_MS);
    await feed.terminate();
    const uid = messageUid({ runId: workflowId.replace('campaign:', ''), channel: 'sms', seq: 0 }, 0);
    const message = async () =>
      (await here.api.expect<{ data: { state: string } }>('GET', `/messages/${uid}`)).data.state;
    await until('its receipt', async () => (await message()) === 'delivered', LIMIT_MS);
    await restart();
    const delivered = async () => (await campaignDetail(here.api, id)).counts.sms?.delivered === 1;
    await until('the campaign knows', delivered, LIMIT_MS);
    expect((await feed.describe()).status.name).toBe('TERMINATED');
  }, 150_000);

  it('are followed again while a run waits for them', async () => {
    const listId = await createList(here.api, 2, 'slow');
    const id = await createSmsCampaign(here.api, listId, await createSmsTemplate(here.api), {
      delivery: { ratePerSecond: 0.01 },
    });
    const isRunning = async () => (await feed.describe()).status.name === 'RUNNING';
    await untilPhase(here.api, id, ['running'], LIMIT_MS);
    await until('its feed', isRunning, LIMIT_MS);
    await feed.terminate();
    await restart();
    await until('the feed that is followed again', isRunning, LIMIT_MS);
    await here.api.expect('POST', `/api/campaign/${id}/cancel`);
  }, 150_000);
});
