import type { HandOver, HandOverResult } from '../provider';
import type { CallDesk, CallingAccount } from './call-control';

/**
 * Writes a call down, has it made at the vendor, and forgets it where it was certainly not made. Written first, because the
 * vendor asks for the call as soon as the callee answers.
 */
export async function placeCall(
  desk: CallDesk,
  message: HandOver,
  account: CallingAccount,
  make: (path: string) => Promise<HandOverResult>,
): Promise<HandOverResult> {
  const begun = await desk.begin(message, account).catch(() => undefined);
  if (!begun) return { kind: 'transient', code: 'call_not_kept' };
  // The message was not given to the vendor, and waits until the account has room.
  if ('waitMs' in begun) return { kind: 'stayed', pauseMs: begun.waitMs };
  if ('problem' in begun)
    return { kind: 'rejected', code: begun.problem, message: 'The document makes no call' };
  const result = await make(begun.path);
  if (result.kind !== 'accepted' && result.kind !== 'unknown') {
    // Kept by mistake, it is deleted by its age.
    await desk.drop(message.id).catch(() => undefined);
  }
  return result;
}
