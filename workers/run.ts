import { existsSync } from 'node:fs';
import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities';
import type { ActivityDeps } from '../activities/deps';
import { LIMITS } from '../src/domain/limits';
import { QUEUES_OF, type QueueName, type Role, TASK_QUEUES } from '../src/domain/task-queues';
import { StartupError } from '../src/startup-error';
import type { WorkerTracing } from '../src/tracing/tracing';
import { BUNDLE_FILE, TRACED_BUNDLE_FILE } from './bundle';

export interface RunningWorkers {
  /** Rejects when a worker has failed beyond repair or ended unasked; resolves when all workers are stopped. */
  done: Promise<void>;
  /** Takes no new work, waits until running activities reach a safe point, and resolves. */
  stop(): Promise<void>;
}

/**
 * Options of every worker.
 *
 * Timeouts that make a crash cheap: with the defaults, a killed worker's workflows wait 10 s for its sticky
 * queue, and its activities' heartbeats are up to 80 % of their timeout old. With these, a restart costs 5 s
 * instead of 16, and leaves a sixth of the messages in doubt.
 */
export const COMMON_OPTIONS: Partial<WorkerOptions> & { isolateExecutionTimeout: string } = {
  stickyQueueScheduleToStartTimeout: '1s',
  maxHeartbeatThrottleInterval: '1s',
  defaultHeartbeatThrottleInterval: '1s',
  // Activities are asked to stop after this time, and do so at their next chunk. The default would ask at once.
  shutdownGraceTime: '500ms',
  shutdownForceTime: '6s',
  // The default of 5 s is measured by the clock, and a task that takes longer, because the machine is frozen or has too little
  // to run on, often ends the whole process: Node cannot cut off code with asynchronous contexts (nodejs/node#38503). Our workflows
  // have no endless loops, and the server gives a task that takes too long to a worker once more. The SDK takes this option, and its
  // types leave it out.
  isolateExecutionTimeout: '1 day',
};

/**
 * Calls run in the same process as their activities. The server then hands over an activity together with the
 * task that scheduled it, which saves a round trip for each.
 */
const WITH_WORKFLOWS: readonly QueueName[] = ['orchestrator', 'durableSends', 'voice'];

/** How much of each queue a process runs at once. */
const OPTIONS: Record<QueueName, Partial<WorkerOptions>> = {
  // A waiting run is a timer (workflows/campaign-run.ts). Its activities wait for the service and the database alone.
  orchestrator: {
    maxCachedWorkflows: 200,
    maxConcurrentActivityTaskExecutions: LIMITS.orchestratorActivities,
  },
  // Few tasks of workflows at once, so that those of campaigns get their share of the process.
  durableSends: {
    maxCachedWorkflows: 500,
    maxConcurrentWorkflowTaskExecutions: LIMITS.durableSendTasks,
    maxConcurrentActivityTaskExecutions: LIMITS.durableSendActivities,
  },
  // Most of these activities wait for their rate or their turn. activities/page-workers.ts limits how many send
  // at once.
  sender: { maxConcurrentActivityTaskExecutions: LIMITS.pagesOpen },
  // A cached workflow costs about 35 KB; sleeping calls beyond this number are replayed when they wake. A
  // campaign that starts calls holds one activity, which waits for its rate and for calls to end.
  voice: { maxCachedWorkflows: 500, maxConcurrentActivityTaskExecutions: LIMITS.voiceActivities },
};

export async function runWorkers(options: {
  connection: NativeConnection;
  namespace: string;
  roles: readonly Role[];
  /** Name of this build. With it, Temporal gives work only to the version that the operator has made current. */
  buildId?: string | undefined;
  /** With it, workflows run from a bundle of their own, which records what they do. */
  tracing?: WorkerTracing | undefined;
  deps: ActivityDeps;
}): Promise<RunningWorkers> {
  const { tracing } = options;
  const codePath = tracing ? TRACED_BUNDLE_FILE : BUNDLE_FILE;
  if (!existsSync(codePath)) {
    throw new StartupError(
      'The workflow bundle is missing',
      'Run `npm run build`; it leaves the bundle in dist.',
    );
  }
  const activities = createActivities(options.deps);
  const workers: Worker[] = [];
  for (const queue of options.roles.flatMap((role): readonly QueueName[] => QUEUES_OF[role])) {
    workers.push(
      await Worker.create({
        connection: options.connection,
        namespace: options.namespace,
        taskQueue: TASK_QUEUES[queue],
        activities: activities[queue],
        ...(WITH_WORKFLOWS.includes(queue) ? { workflowBundle: { codePath } } : {}),
        ...(options.buildId === undefined ? {} : versioned(options.buildId)),
        ...tracing,
        ...COMMON_OPTIONS,
        ...OPTIONS[queue],
      }),
    );
  }
  let stopping = false;
  const runs = workers.map(async (worker) => {
    await worker.run();
    // Its campaigns would stand still while the process answers requests.
    if (!stopping) throw new Error(`The worker of ${worker.options.taskQueue} stopped by itself`);
  });
  const done = Promise.all(runs).then(() => undefined);
  return {
    done,
    async stop() {
      stopping = true;
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await done.catch(() => undefined);
    },
  };
}

/**
 * Workflows move to the current version with their next task, because recorded histories replay on every later
 * build (test/replay). Pinned ones would keep an old build running for as long as a call or a schedule sleeps.
 */
const versioned = (buildId: string): Partial<WorkerOptions> => ({
  workerDeploymentOptions: {
    version: { deploymentName: DEPLOYMENT, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: 'AUTO_UPGRADE',
  },
});

/** All workers of an installation are one deployment, as Temporal calls it. */
const DEPLOYMENT = 'fanfare';
