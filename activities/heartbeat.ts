import { activityInfo, CancelledFailure, Context, heartbeat } from '@temporalio/activity';

/** Well under the heartbeat timeout of 10 s, so that one late beat is no death sentence; each is a write of the server. */
const BEAT_MS = 2_500;

/**
 * Runs `work` under a steady heartbeat: cancellation and the server's doubts reach us only that way. One
 * that is over before the first beat costs the server nothing.
 */
export async function withHeartbeat<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => heartbeat(), BEAT_MS);
  try {
    return await work();
  } finally {
    clearInterval(timer);
  }
}

/** Ends the activity at a point where it may safely be taken up again, if it was asked to end. */
export function stopIfCancelled(): void {
  const { cancellationSignal } = Context.current();
  if (cancellationSignal.aborted)
    throw new CancelledFailure(`${activityInfo().activityType} was asked to stop`);
}

/** Waits, but not beyond the activity's cancellation. */
export async function pause(ms: number): Promise<void> {
  await Context.current().sleep(ms);
}
