import { type Client, defaultPayloadConverter } from '@temporalio/client';
import { TASK_QUEUES } from '../../src/domain/task-queues';
import { NAMES } from '../../src/temporal/launcher';
import type { CampaignRunInput } from '../../workflows/messages';
import { until } from './until';

/**
 * Starts the workflow of a run that waits for its hour at once, in place of the one that waits, as a process whose clock
 * is ahead would have; and waits until it has found out that it is early.
 */
export async function startEarly({ workflow }: Client, workflowId: string): Promise<void> {
  const handle = workflow.getHandle(workflowId);
  const [first] = (await handle.fetchHistory()).events ?? [];
  const [payload] = first?.workflowExecutionStartedEventAttributes?.input?.payloads ?? [];
  if (!payload) throw new Error(`${workflowId} was started with nothing`);
  await workflow.start(NAMES.campaignRun, {
    taskQueue: TASK_QUEUES.orchestrator,
    workflowId,
    workflowIdConflictPolicy: 'TERMINATE_EXISTING',
    args: [defaultPayloadConverter.fromPayload<CampaignRunInput>(payload)],
  });
  const waits = async () => {
    const { events } = await handle.fetchHistory();
    return events?.some((event) => event.timerStartedEventAttributes);
  };
  await until('the run waits for its hour', waits, undefined, 100);
}
