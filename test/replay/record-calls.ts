import type { Client } from '@temporalio/client';
import { voiceCallWorkflowId } from '../../src/domain/ids';
import { type ApiClient, campaignDetail, untilPhase } from '../support/api-client';
import { until } from '../support/until';
import { createVoiceCampaign } from '../support/voice-campaign';

const LIMIT_MS = 240_000;

/** What a call's workflow may go through beside redialling; the simulator's reserved numbers bring it about. */
export async function callsOnEveryPath(api: ApiClient, client: Client): Promise<Record<string, string>> {
  const busyTwice = { retry: { busy: { maxAttempts: 2, delaysSeconds: [3] } } };
  const [unknown, faults, later, paused, canceled] = await Promise.all([
    // Neither the signal nor the ledger tells of its end.
    begin('+12125550183', { voice: { ringTimeoutSeconds: 5 } }),
    begin('+12125550197', {}),
    begin('+12135550194', { voice: busyTwice, delivery: { ratePerSecond: 0.2 } }),
    begin('+12145550199', { voice: busyTwice }),
    begin('+12155550195', {
      voice: { retry: { no_answer: { maxAttempts: 2, delaysSeconds: [3_600] } } },
    }),
  ]);
  await Promise.all([pauseAndResume(paused), cancelAsleep(canceled)]);
  const wanted = { unknown, faults, later, paused, canceled };
  const workflows: Record<string, string> = {};
  for (const [name, { id, workflowId }] of Object.entries(wanted)) {
    await untilPhase(api, id, [name === 'canceled' ? 'canceled' : 'completed'], LIMIT_MS);
    await until(
      `the end of ${name}`,
      async () => (await describe(workflowId)).status.name === 'COMPLETED',
      LIMIT_MS,
    );
    workflows[`voice-call-${name}`] = workflowId;
  }
  return workflows;

  async function begin(phone: string, more: object) {
    const id = await createVoiceCampaign(api, [{ phone }], more as Record<string, unknown>);
    const { workflowId } = await untilPhase(api, id, ['running', 'finishing', 'completed'], LIMIT_MS);
    return { id, workflowId: voiceCallWorkflowId(workflowId.replace('campaign:', ''), 0, 1) };
  }

  async function pauseAndResume({ id, workflowId }: { id: string; workflowId: string }): Promise<void> {
    await untilAsleep(id);
    await api.expect('POST', `/api/campaign/${id}/pause`);
    const { historyLength } = await describe(workflowId);
    // It wakes for its redial, and learns that it is not to call.
    await until(
      'its look',
      async () => (await describe(workflowId)).historyLength > historyLength + 6,
      LIMIT_MS,
    );
    await api.expect('POST', `/api/campaign/${id}/resume`);
  }

  async function cancelAsleep({ id }: { id: string }): Promise<void> {
    await untilAsleep(id);
    await api.expect('POST', `/api/campaign/${id}/cancel`);
  }

  function untilAsleep(id: string): Promise<unknown> {
    return until(
      'a call that sleeps',
      async () => (await campaignDetail(api, id)).counts.voice?.waiting === 1,
      LIMIT_MS,
      50,
    );
  }

  function describe(workflowId: string) {
    return client.workflow.getHandle(workflowId).describe();
  }
}
