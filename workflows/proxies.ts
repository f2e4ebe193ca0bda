import { isCancellation, proxyActivities, proxyLocalActivities } from '@temporalio/workflow';
import type {
  DurableSendActivities,
  OrchestratorActivities,
  SenderActivities,
  VoiceActivities,
} from '../activities';
import { ERRORS } from '../src/domain/errors';
import { TASK_QUEUES } from '../src/domain/task-queues';
import { HEARTBEAT_SECONDS } from './constants';

/**
 * Timeouts and retries of every activity. Codes that a retry cannot mend end an activity at once. All others
 * are retried for ever, because a run must outlive any outage. The intervals stay short, because the cause is
 * usually a restart.
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

/**
 * Activities send a heartbeat every 2.5 seconds (activities/heartbeat.ts), so that the server notices a dead
 * worker within this time.
 */
const heartbeatTimeout = `${HEARTBEAT_SECONDS}s` as const;

/** One statement or one request. A service that answers at all answers within a minute. */
export const quick = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '1m',
  heartbeatTimeout,
  retry,
});

/** Activities that work for long. */
export const long = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '6h',
  heartbeatTimeout,
  retry,
});

/** Steps whose failure must not keep a run from ending. */
export const brief = proxyActivities<OrchestratorActivities>({
  taskQueue: TASK_QUEUES.orchestrator,
  startToCloseTimeout: '20s',
  scheduleToCloseTimeout: '20s',
  heartbeatTimeout,
  retry,
});

export const sender = proxyActivities<SenderActivities>({
  taskQueue: TASK_QUEUES.sender,
  // A page takes seconds. At a very slow service it may take hours, and it is still one piece of work.
  startToCloseTimeout: '12h',
  heartbeatTimeout,
  retry,
});

export const voice = proxyActivities<VoiceActivities>({
  taskQueue: TASK_QUEUES.voice,
  // Starting calls takes half a minute. Placing a call waits at most for the service.
  startToCloseTimeout: '2m',
  heartbeatTimeout,
  retry,
});

/**
 * Gives one message to the service: a request for a token and one for the message, each a minute at most. It is scheduled
 * where its workflow is.
 */
export const direct = proxyActivities<DurableSendActivities>({
  startToCloseTimeout: '2m',
  heartbeatTimeout,
  retry,
});

/**
 * One statement each. They run in the worker that has the workflow, because asking the server to schedule them
 * is half of what a call costs it.
 */
export const voiceLocal = proxyLocalActivities<VoiceActivities>({ startToCloseTimeout: '10s', retry });
export const directLocal = proxyLocalActivities<DurableSendActivities>({
  startToCloseTimeout: '10s',
  retry,
});

/** A process has room for 40 tasks of workflows, and a task lasts until its local activities are over. */
const firstTry = proxyLocalActivities<OrchestratorActivities>({
  startToCloseTimeout: '300ms',
  retry: { maximumAttempts: 1 },
});

/**
 * Steps before a run's first message. Each usually takes some ms, and asking the server to schedule it takes 20. So it
 * is tried once in the worker that has the workflow. A step that fails there is scheduled, and the server retries it.
 */
export const localFirst = {
  beginRun: orScheduled(firstTry.beginRun, quick.beginRun),
  refreshToken: orScheduled(firstTry.refreshToken, quick.refreshToken),
  lookUpTemplates: orScheduled(firstTry.lookUpTemplates, quick.lookUpTemplates),
  ensureOutcomeFeed: orScheduled(firstTry.ensureOutcomeFeed, quick.ensureOutcomeFeed),
};

type Step<Input, Output> = (input: Input) => Promise<Output>;

function orScheduled<Input, Output>(
  local: Step<Input, Output>,
  scheduled: Step<Input, Output>,
): Step<Input, Output> {
  return (input) =>
    local(input).catch((error: unknown) => {
      if (isCancellation(error)) throw error;
      return scheduled(input);
    });
}
