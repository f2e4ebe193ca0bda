import { setTimeout as delay } from 'node:timers/promises';
import type { HttpAnswer, NoAnswer } from '../http-exchange';

/** A callee waits meanwhile, and the carrier for our answer. */
const WAITS_MS = [300, 900];
/** The call has ended; Twilio then says 400 with this code. */
const isOver = ({ status, text }: HttpAnswer) =>
  status === 404 || status === 410 || (status === 400 && /\b21220\b/.test(text));

/**
 * Asks a vendor to steer a call, again where it certainly did not: a call that was to be hung up would go on, and one that was
 * to leave a message would say the rest of the wrong one. Not after a lost answer, because a document that is fetched a second
 * time is said from its beginning. Throws if the vendor does not do it.
 */
export async function steered(ask: () => Promise<HttpAnswer | NoAnswer>): Promise<void> {
  for (const waitMs of [...WAITS_MS, undefined]) {
    const answer = await ask();
    if ('status' in answer && (answer.status < 300 || isOver(answer))) return;
    const isRefused = 'status' in answer ? answer.status === 429 || answer.status === 503 : !answer.offered;
    if (!isRefused || waitMs === undefined)
      throw new Error(`The vendor did not steer a call: ${'status' in answer ? answer.status : answer.code}`);
    await delay(waitMs);
  }
}
