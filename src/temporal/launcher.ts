import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { WorkflowSignals } from '../../activities/deps';
import type { campaignRun, durableSend, voiceCall } from '../../workflows';
import type { CampaignRunInput, DurableSendInput, VoiceCallInput } from '../../workflows/messages';
import type { CallEndings, CampaignSchedules, RunLauncher, RunWaker, SendLauncher } from '../campaigns/ports';
import { DomainError } from '../domain/errors';
import { campaignRunWorkflowId, durableSendWorkflowId, voiceCallWorkflowId } from '../domain/ids';
import { TASK_QUEUES } from '../domain/task-queues';
import { createSchedules } from './schedules';

/** An update waits for a worker; a caller should not, beyond this. */
const CONTROL_DEADLINE_MS = 10_000;

/**
 * Starts and signals workflows by typed name; workflow code itself is never loaded here. Everything is
 * harmless when repeated: a workflow's id says what it is for, and an id is used once.
 */
export function createLauncher(client: Client): RunLauncher & RunWaker & SendLauncher & CampaignSchedules {
  return {
    ...createSchedules(client),

    async launch({ runId, launch, workspaceId, startAt }) {
      const startDelay = startAt ? startAt.getTime() - Date.now() : 0;
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        client.workflow.start<typeof campaignRun>(NAMES.campaignRun, {
          taskQueue: TASK_QUEUES.orchestrator,
          workflowId: campaignRunWorkflowId(runId, launch),
          // One that was terminated by hand is started anew: the run's row says that it is to go on.
          workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
          args: [{ runId, workspaceId, launch } satisfies CampaignRunInput],
          ...(startDelay > 0 ? { startDelay } : {}),
        }),
      );
    },

    async controlChanged({ runId, launch }) {
      try {
        await client.withDeadline(Date.now() + CONTROL_DEADLINE_MS, () =>
          client.workflow
            .getHandle(campaignRunWorkflowId(runId, launch))
            .executeUpdate<void, []>(NAMES.controlChanged),
        );
      } catch (error) {
        // One that has ended has nothing left to put into force.
        if (error instanceof WorkflowNotFoundError) return;
        throw new DomainError(
          'dependency_down',
          `Run ${runId} is marked, but its workflow could not be told; repeat the call`,
          { cause: error, retryAfterSeconds: 5 },
        );
      }
    },

    async wakeRun({ runId, launch }) {
      const handle = client.workflow.getHandle(campaignRunWorkflowId(runId, launch));
      await ignoring(WorkflowNotFoundError, handle.signal(NAMES.wake));
    },

    async launchSend({ sendId, startAt }) {
      const startDelay = startAt.getTime() - Date.now();
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        client.workflow.start<typeof durableSend>(NAMES.durableSend, {
          taskQueue: TASK_QUEUES.orchestrator,
          workflowId: durableSendWorkflowId(sendId),
          // The row says whether there is anything left to do; a workflow that was ended from outside left some.
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          args: [{ sendId } satisfies DurableSendInput],
          ...(startDelay > 0 ? { startDelay } : {}),
        }),
      );
    },

    async wakeSend(sendId) {
      // A plain signal would not reach one whose start is delayed before its hour; this ends the delay.
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        client.workflow.signalWithStart<typeof durableSend, []>(NAMES.durableSend, {
          taskQueue: TASK_QUEUES.orchestrator,
          workflowId: durableSendWorkflowId(sendId),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          args: [{ sendId } satisfies DurableSendInput],
          signal: NAMES.wakeSend,
        }),
      );
    },
  };
}

export function createSignals(
  client: Client,
): WorkflowSignals & CallEndings & Pick<SendLauncher, 'wakeSend'> {
  const call = (runId: string, seq: number, from: number) =>
    client.workflow.getHandle(voiceCallWorkflowId(runId, seq, from));
  const launcher = createLauncher(client);
  return {
    launchRun: (run) => launcher.launch(run),
    removeSchedule: (campaignId) => launcher.removeSchedule(campaignId),

    async startCall({ runId, seq, from, policy }) {
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        client.workflow.start<typeof voiceCall>(NAMES.voiceCall, {
          taskQueue: TASK_QUEUES.voice,
          workflowId: voiceCallWorkflowId(runId, seq, from),
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          args: [{ runId, seq, from, policy } satisfies VoiceCallInput],
        }),
      );
    },

    async callEnded({ runId, seq, from, ...ending }) {
      await ignoring(WorkflowNotFoundError, call(runId, seq, from).signal(NAMES.callEnded, ending));
    },

    async wakeCall({ runId, seq, from, control }) {
      await ignoring(WorkflowNotFoundError, call(runId, seq, from).signal(NAMES.wakeCall, control));
    },

    async wakeSend(sendId) {
      const handle = client.workflow.getHandle(durableSendWorkflowId(sendId));
      await ignoring(WorkflowNotFoundError, handle.signal(NAMES.wakeSend));
    },
  };
}

/** Names of workflows and messages as workflows/ exports and defines them; a test compares them. */
export const NAMES = {
  campaignRun: 'campaignRun',
  voiceCall: 'voiceCall',
  durableSend: 'durableSend',
  controlChanged: 'controlChanged',
  wake: 'wake',
  callEnded: 'callEnded',
  wakeCall: 'wakeCall',
  wakeSend: 'wakeSend',
} as const;

async function ignoring(harmless: new (...args: never[]) => Error, work: Promise<unknown>): Promise<void> {
  try {
    await work;
  } catch (error) {
    if (!(error instanceof harmless)) throw error;
  }
}
