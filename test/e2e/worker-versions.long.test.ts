/** Proves that a named build works only when it is current, and that campaigns under way move to the next one. */

import { Client, Connection } from '@temporalio/client';
import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { Installation } from '../support/installation';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

const DEPLOYMENT = 'fanfare';

describe('builds that have names', () => {
  let here: Installation;
  let connection: Connection;
  let client: Client;
  let namespace: string;

  beforeAll(async () => {
    const temporal = await freshNamespace();
    namespace = temporal.namespace;
    connection = await Connection.connect({ address: temporal.address });
    client = new Client({ connection, namespace });
    here = await Installation.start({
      FANFARE_WORKER_BUILD_ID: 'one',
      TEMPORAL_ADDRESS: temporal.address,
      TEMPORAL_NAMESPACE: namespace,
    });
  }, 120_000);
  afterAll(async () => {
    await connection?.close();
    await here?.remove();
  });

  /** Temporal learns of a build when its workers poll. */
  async function makeCurrent(buildId: string): Promise<void> {
    await until(`build ${buildId} is current`, async () => {
      try {
        await client.workflowService.setWorkerDeploymentCurrentVersion({
          ...{ namespace, deploymentName: DEPLOYMENT, buildId, identity: 'test' },
          ignoreMissingTaskQueues: true,
        });
        return true;
      } catch {
        return false;
      }
    });
  }
  const buildOf = async (workflowId: string) =>
    (await client.workflow.getHandle(workflowId).describe()).raw.workflowExecutionInfo?.versioningInfo
      ?.deploymentVersion?.buildId;

  test('a campaign begins when its build is current, and ends on the build that follows', async () => {
    const template = await createSmsTemplate(here.api);
    const campaign = async (contacts: number, prefix: string, delivery: object = {}) =>
      createSmsCampaign(here.api, await createList(here.api, contacts, prefix), template, { delivery });
    const id = await campaign(3, 'first');
    await makeCurrent('one');
    await untilPhase(here.api, id, ['completed'], 60_000);

    const slow = await campaign(30, 'slow', { ratePerSecond: 1 });
    await untilPhase(here.api, slow, ['running'], 60_000);
    const { workflowId } = (
      await here.api.expect<{ data: { workflowId: string } }>('GET', `/api/campaign/${slow}`)
    ).data;
    expect(await buildOf(workflowId)).toBe('one');
    await here.fanfare.stop();
    here.place.env.FANFARE_WORKER_BUILD_ID = 'two';
    await here.run();
    await makeCurrent('two');
    const { counts } = await untilPhase(here.api, slow, ['completed'], 120_000);
    expect(counts.sms).toMatchObject({ total: 30, pending: 0, waiting: 0, sending: 0, unknown: 0 });
    expect(here.record('sms')).toMatchObject({ duplicates: [] });
    await until('the workflow moved to the new build', async () => (await buildOf(workflowId)) === 'two');
  }, 300_000);
});
