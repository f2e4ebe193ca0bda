import { ApplicationFailure } from '@temporalio/activity';
import { AbortWatch } from '../src/campaigns/outcomes/abort-watch';
import { ERRORS, isDomainError } from '../src/domain/errors';
import { LIMITS } from '../src/domain/limits';
import { audienceActivities } from './audience';
import { callActivities } from './calls';
import type { ActivityDeps } from './deps';
import { durableSendActivities } from './durable-sends';
import { withHeartbeat } from './heartbeat';
import { lookActivities } from './run-checks';
import { occurrenceActivities, runLifecycleActivities } from './run-lifecycle';
import { sendActivities } from './send';
import { eventActivities, serviceActivities } from './service';

/** Activities by the queue that they are taken from (src/domain/task-queues.ts). */
export function createActivities(deps: ActivityDeps) {
  const abort = new AbortWatch(deps.db);
  const sends = durableSendActivities(deps);
  return {
    orchestrator: asActivities({
      ...serviceActivities(deps),
      ...audienceActivities(deps),
      ...eventActivities(deps),
      ...runLifecycleActivities(deps),
      ...lookActivities(deps),
      // Of sends that were started before they had a queue of their own.
      ...sends,
      ...occurrenceActivities(deps),
    }),
    durableSends: asActivities(sends),
    sender: asActivities(sendActivities(deps, abort)),
    voice: asActivities(callActivities(deps, abort)),
  };
}

type Created = ReturnType<typeof createActivities>;
export type OrchestratorActivities = Created['orchestrator'];
export type DurableSendActivities = Created['durableSends'];
export type SenderActivities = Created['sender'];
export type VoiceActivities = Created['voice'];

// biome-ignore lint/suspicious/noExplicitAny: any function serves as an activity; its own type is kept.
type Functions = Record<string, (...args: any[]) => Promise<unknown>>;

/**
 * Wraps every activity. Each sends heartbeats while it runs, so that the server notices its worker's death
 * within seconds. Each converts our errors into failures whose type is the error's code.
 */
function asActivities<T extends Functions>(activities: T): T {
  return Object.fromEntries(
    Object.entries(activities).map(([name, activity]) => [
      name,
      async (...args: unknown[]) => {
        try {
          return await withHeartbeat(() => activity(...args));
        } catch (error) {
          throw asFailure(error);
        }
      },
    ]),
  ) as T;
}

/**
 * The only place where our error becomes a Temporal failure. Its type is the catalogue's code. It is retried
 * unless the code's class says that retrying is useless; unknown errors are retried.
 */
function asFailure(error: unknown): unknown {
  if (!isDomainError(error)) return error;
  const { retry } = ERRORS[error.code];
  return ApplicationFailure.create({
    type: error.code,
    message: error.message,
    nonRetryable: retry === 'permanent' || retry === 'account',
    ...(error.retryAfterSeconds
      ? { nextRetryDelay: Math.min(error.retryAfterSeconds * 1_000, LIMITS.activityRetryMaxMs) }
      : {}),
  });
}
