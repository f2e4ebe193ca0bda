import { activityInfo, CancelledFailure, Context, heartbeat } from '@temporalio/activity';

/**
 * Well under the heartbeat timeout of 10 s, so that one late beat does not end the activity. Not shorter,
 * because the server writes each beat to its database.
 */
const BEAT_MS = 2_500;

/**
 * Runs `work` under a steady heartbeat, because the server delivers cancellation only in its answers to
 * heartbeats. An activity that ends before the first beat costs the server nothing.
 */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => heartbeat(), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Throws if the activity was asked to end. Call it only where the work can be resumed safely. */
export function stopIfCancelled(): void {
  const { cancellationSignal } = Context.current();
  if (cancellationSignal.aborted)
    throw new CancelledFailure(`${activityInfo().activityType} was asked to stop`);
}

/** Waits for `ms`, or until the activity is cancelled. */
export async function pause(ms: number): Promise<void> {
  await Context.current().sleep(ms);
}
