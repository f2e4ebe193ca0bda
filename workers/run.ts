import { existsSync } from 'node:fs';
import { type NativeConnection, Worker, type WorkerOptions } from '@temporalio/worker';
import { createActivities } from '../activities';
import type { ActivityDeps } from '../activities/deps';
import { LIMITS } from '../src/domain/limits';
import { type Role, TASK_QUEUES } from '../src/domain/task-queues';
import { StartupError } from '../src/startup-error';
import { BUNDLE_FILE } from './bundle';

export interface RunningWorkers {
  /** Settles when a worker has failed beyond repair; otherwise when all are stopped. */
  done: Promise<void>;
  /** Takes no new work, lets running activities come to a safe point, and resolves. */
  stop(): Promise<void>;
}

/**
 * Timeouts that make a crash cheap: with the defaults, a killed worker's workflows wait 10 s for its
 * sticky queue and its activities are known by heartbeats up to 80 % of their timeout old; so, a
 * restart costs 5 s instead of 16, and a sixth of the doubt.
 */
const COMMON: Partial<WorkerOptions> = {
  stickyQueueScheduleToStartTimeout: '1s',
  maxHeartbeatThrottleInterval: '1s',
  defaultHeartbeatThrottleInterval: '1s',
  // Activities are asked to stop after this, and do at their next chunk; the default would ask at once.
  shutdownGraceTime: '500ms',
  shutdownForceTime: '6s',
};

/**
 * Calls run where their activities do: the server then hands an activity over together with the task
 * that scheduled it, which saves a round trip for each.
 */
const WITH_WORKFLOWS: readonly Role[] = ['orchestrator', 'voice'];

/** Per role: what it runs and how much at once. */
const OPTIONS: Record<Role, Partial<WorkerOptions>> = {
  // None of its activities waits: a run that does is a timer (workflows/campaign-run.ts).
  orchestrator: { maxCachedWorkflows: 200, maxConcurrentActivityTaskExecutions: 100 },
  // Most of them wait for their pace or their turn; how many send at once is up to activities/page-workers.ts.
  sender: { maxConcurrentActivityTaskExecutions: LIMITS.pagesOpen },
  // A cached workflow costs about 35 KB; sleeping calls beyond these are replayed when they wake.
  // A campaign that starts calls has one activity, which waits for its pace and for calls to end.
  voice: { maxCachedWorkflows: 500, maxConcurrentActivityTaskExecutions: LIMITS.voiceActivities },
};

export async function runWorkers(options: {
  connection: NativeConnection;
  namespace: string;
  roles: readonly Role[];
  deps: ActivityDeps;
}): Promise<RunningWorkers> {
  if (!existsSync(BUNDLE_FILE)) {
    throw new StartupError(
      'The workflow bundle is missing',
      'Run `npm run build`; it leaves the bundle in dist.',
    );
  }
  const activities = createActivities(options.deps);
  const workers: Worker[] = [];
  for (const role of options.roles) {
    workers.push(
      await Worker.create({
        connection: options.connection,
        namespace: options.namespace,
        taskQueue: TASK_QUEUES[role],
        activities: activities[role],
        ...(WITH_WORKFLOWS.includes(role) ? { workflowBundle: { codePath: BUNDLE_FILE } } : {}),
        ...COMMON,
        ...OPTIONS[role],
      }),
    );
  }
  const runs = workers.map((worker) => worker.run());
  const done = Promise.all(runs).then(() => undefined);
  return {
    done,
    async stop() {
      for (const worker of workers) if (worker.getState() === 'RUNNING') worker.shutdown();
      await done.catch(() => undefined);
    },
  };
}
