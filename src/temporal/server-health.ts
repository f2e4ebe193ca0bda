import { Connection } from '@temporalio/client';
import { TASK_QUEUES } from '../domain/task-queues';
import type { HealthCheck } from '../supervision/keep-running';

const EVERY_MS = 10_000;
/** Long, because a machine with more work than cores makes its server answer late, and a restart would not help. */
const RESTART_AFTER_MS = 60_000;
/**
 * SQLite's answer while a statement that was given up is still open: the server has one connection to its database,
 * and each statement on it is refused from then on. Two such answers are enough.
 */
const STORE_IS_STUCK = /interrupted \(9\)/;
const STUCK_MS = 1_000;
/** TASK_QUEUE_TYPE_WORKFLOW of Temporal's API. */
const WORKFLOW_TASKS = 1;

/**
 * Checks what every workflow needs: the store, and the queues by which workers get their tasks. A development
 * server was once seen to start workflows and refuse every poll of one queue for 50 minutes, until it was
 * restarted.
 */
export function serverHealth(address: string, namespace: string, everyMs = EVERY_MS): HealthCheck {
  return {
    everyMs,
    restartAfterMs: (why) => (STORE_IS_STUCK.test(why) ? STUCK_MS : RESTART_AFTER_MS),
    async ask() {
      // Without the client's own retries, which would end by saying only that time was up.
      const connection = Connection.lazy({ address, interceptors: [] });
      try {
        await connection.withDeadline(Date.now() + everyMs, async () => {
          await connection.workflowService.describeNamespace({ namespace });
          for (const name of Object.values(TASK_QUEUES)) {
            await connection.workflowService.describeTaskQueue({
              namespace,
              taskQueue: { name },
              taskQueueType: WORKFLOW_TASKS,
            });
          }
        });
      } finally {
        await connection.close();
      }
    },
  };
}
