import { type Client, WorkflowExecutionAlreadyStartedError, WorkflowNotFoundError } from '@temporalio/client';
import type { WorkflowSignals } from '../../activities/deps';
import type { campaignRun, durableSend, voiceCall } from '../../workflows';
import type { CampaignRunInput, DurableSendInput, VoiceCallInput } from '../../workflows/messages';
import type {
  CallEndings,
  CallReviver,
  CampaignSchedules,
  RunLauncher,
  RunWaker,
  SendLauncher,
  ShardWaker,
} from '../campaigns/model/dependencies';
import { databaseNow } from '../domain/database-clock';
import { DomainError } from '../domain/errors';
import {
  campaignRunWorkflowId,
  channelShardWorkflowId,
  durableSendWorkflowId,
  voiceCallWorkflowId,
} from '../domain/ids';
import { inParallel } from '../domain/in-parallel';
import { TASK_QUEUES } from '../domain/task-queues';
import { createSchedules } from './schedules';

/** An update waits for a worker; its caller should wait no longer than this. */
const CONTROL_DEADLINE_MS = 10_000;
const SHARDS_AT_ONCE = 8;

export type Launcher = RunLauncher & RunWaker & ShardWaker & SendLauncher & CallReviver & CampaignSchedules;

/**
 * Starts and signals workflows by their type names, without loading workflow code. Every call may be repeated,
 * because a workflow's id says what it is for, and an id is used once.
 */
export function createLauncher(client: Client): Launcher {
  return {
    ...createSchedules(client),
    ...createSendLauncher(client),
    ...createWakers(client),

    async launch({ runId, launch, workspaceId, startAt, isDue }) {
      const options = {
        taskQueue: TASK_QUEUES.orchestrator,
        workflowId: campaignRunWorkflowId(runId, launch),
        // A workflow that was terminated by hand is started anew, because the run's row says that it must
        // continue.
        workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
        args: [{ runId, workspaceId, launch } satisfies CampaignRunInput] as [CampaignRunInput],
      } as const;
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        isDue
          ? client.workflow.signalWithStart<typeof campaignRun>(NAMES.campaignRun, {
              ...options,
              signal: NAMES.wake,
            })
          : client.workflow.start<typeof campaignRun>(NAMES.campaignRun, {
              ...options,
              ...delayUntil(startAt),
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
        // A run that has ended has nothing left to apply.
        if (error instanceof WorkflowNotFoundError) return;
        throw new DomainError(
          'dependency_down',
          `Run ${runId} is marked, but its workflow could not be told; repeat the call`,
          { cause: error, retryAfterSeconds: 5 },
        );
      }
    },

    async reviveCall({ runId, seq, from, policy, goOn }) {
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        client.workflow.start<typeof voiceCall>(NAMES.voiceCall, {
          taskQueue: TASK_QUEUES.voice,
          workflowId: voiceCallWorkflowId(runId, seq, from),
          // The ledger says that the call must continue, also if its workflow was terminated by hand.
          workflowIdReusePolicy: 'ALLOW_DUPLICATE_FAILED_ONLY',
          args: [{ runId, seq, from, policy, goOn } satisfies VoiceCallInput],
        }),
      );
    },
  };
}

function createWakers(client: Client): RunWaker & ShardWaker {
  return {
    async wakeRun({ runId, launch }) {
      const handle = client.workflow.getHandle(campaignRunWorkflowId(runId, launch));
      await ignoring(WorkflowNotFoundError, handle.signal(NAMES.wake));
    },

    async wakeShards({ runId, launch, shards }) {
      await inParallel(shards, SHARDS_AT_ONCE, ({ channel, shard }) =>
        ignoring(
          WorkflowNotFoundError,
          client.workflow.getHandle(channelShardWorkflowId(runId, launch, channel, shard)).signal(NAMES.wake),
        ),
      );
    },
  };
}

function createSendLauncher(client: Client): SendLauncher {
  async function wake(sendId: string, ended: 'ALLOW_DUPLICATE' | 'REJECT_DUPLICATE'): Promise<void> {
    // A plain signal would not reach a workflow whose start is delayed; this also ends the delay.
    await ignoring(
      WorkflowExecutionAlreadyStartedError,
      client.workflow.signalWithStart<typeof durableSend, []>(NAMES.durableSend, {
        taskQueue: TASK_QUEUES.durableSends,
        workflowId: durableSendWorkflowId(sendId),
        workflowIdReusePolicy: ended,
        args: [{ sendId } satisfies DurableSendInput],
        signal: NAMES.wakeSend,
      }),
    );
  }

  return {
    async launchSend({ sendId, startAt, isDue }) {
      // The row says whether work is left; a workflow that was ended from outside left some.
      if (isDue) return wake(sendId, 'ALLOW_DUPLICATE');
      await ignoring(
        WorkflowExecutionAlreadyStartedError,
        client.workflow.start<typeof durableSend>(NAMES.durableSend, {
          taskQueue: TASK_QUEUES.durableSends,
          workflowId: durableSendWorkflowId(sendId),
          workflowIdReusePolicy: 'ALLOW_DUPLICATE',
          args: [{ sendId } satisfies DurableSendInput],
          ...delayUntil(startAt),
        }),
      );
    },

    wakeSend: (sendId) => wake(sendId, 'REJECT_DUPLICATE'),
  };
}

const delayUntil = (startAt: Date | undefined) => {
  const startDelay = startAt ? startAt.getTime() - databaseNow() : 0;
  return startDelay > 0 ? { startDelay } : {};
};

export function createSignals(
  client: Client,
  launcher: Pick<Launcher, 'launch' | 'removeSchedule'>,
): WorkflowSignals & CallEndings & Pick<SendLauncher, 'wakeSend'> {
  const call = (runId: string, seq: number, from: number) =>
    client.workflow.getHandle(voiceCallWorkflowId(runId, seq, from));
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
