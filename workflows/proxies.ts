import { proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type { OrchestratorActivities, SenderActivities, VoiceActivities } from '../activities';
import { ERRORS } from '../src/domain/errors';
import { LIMITS } from '../src/domain/limits';
import { TASK_QUEUES } from '../src/domain/task-queues';

/**
 * Every activity's timeouts and retries. Codes that a retry cannot mend end an activity at once; anything
 * else is retried for ever, because a run must outlive any outage. The intervals stay short: what they
 * wait for is usually a restart.
 */
const FINAL = Object.entries(ERRORS)
  .filter(([, entry]) => entry.retry === 'permanent' || entry.retry === 'account')
  .map(([code]) => code);

const retry = {
  initialInterval: '500ms',
  backoffCoefficient: 2,
  maximumInterval: '10s',
  nonRetryableErrorTypes: FINAL,
} as const;

/** Activities beat every 2.5 seconds (activities/heartbeat.ts): a dead worker is noticed within this. */
const heartbeatTimeout = `${LIMITS.pageHeartbeatSeconds}s` as const;

/** A statement or a call; a minute is a service at its worst. */
export const quick = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '1m',
  heartbeatTimeout,
  retry,
});

/** Works for long. */
export const long = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '6h',
  heartbeatTimeout,
  retry,
});

/** What must not keep a run from ending. */
export const brief = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '20s',
  scheduleToCloseTimeout: '20s',
  heartbeatTimeout,
  retry,
});

export const sender = proxyActivities<SenderActivities>({
  taskQueue: TASK_QUEUES.sender,
  // A page lasts seconds; at a service so slow that it lasts hours it still is one piece of work.
  startToCloseTimeout: '12h',
  heartbeatTimeout,
  retry,
});

export const voice = proxyActivities<VoiceActivities>({
  taskQueue: TASK_QUEUES.voice,
  // Starting calls goes on for half a minute, placing one waits for the service at most.
  startToCloseTimeout: '2m',
  heartbeatTimeout,
  retry,
});

/** One message given to the service: a token and the message, each a minute at its worst. */
export const direct = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '2m',
  heartbeatTimeout,
  retry,
});

/**
 * A statement each, run in the worker that has the workflow: the server is not asked to hand it out,
 * which is half of what a call costs it.
 */
export const voiceLocal = proxyLocalActivities<VoiceActivities>({ startToCloseTimeout: '10s', retry });
export const directLocal = proxyLocalActivities<OrchestratorActivities>({
  startToCloseTimeout: '10s',
  retry,
});
