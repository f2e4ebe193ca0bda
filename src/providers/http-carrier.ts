import { handoverWaitMs } from '../domain/handover-wait';
import { carrierThread } from './carrier-thread';
import { faultOf } from './fault';
import type { CarrierRequest, HttpAnswer, MayBegin, NoAnswer } from './http-exchange';
import { anyMayLeave, type HandOver, type HandOverResult, type MayLeave, type Provider } from './provider';

export interface HttpCarrierOptions {
  url: URL;
  /** Requests at once, and so the messages of a batch: none waits for another. */
  connections: number;
  /** How long one answer may take, and how much of it is read. */
  answerMs: number;
  answerBytes: number;
}

/** What providers have in common that hand over each message with a request of its own. */
export interface HttpCarrier {
  ask(request: CarrierRequest, mayBegin: MayBegin): Promise<HttpAnswer | NoAnswer>;
  handOver(handOne: (message: HandOver, mayBegin: MayBegin) => Promise<HandOverResult>): Provider['handOver'];
  close(): Promise<void>;
}

export function openHttpCarrier({
  url,
  connections,
  answerMs,
  answerBytes,
}: HttpCarrierOptions): HttpCarrier {
  const pool = carrierThread.openPool({ origin: url.origin, connections, answerMs, answerBytes });

  return {
    ask: pool.ask,
    handOver:
      (handOne) =>
      async (messages, mayLeave = anyMayLeave) => {
        if (messages.length > connections) {
          throw new RangeError(`${messages.length} messages in a hand-over of at most ${connections}`);
        }
        const results = messages.map((message) => alone(handOne, message, mayLeave));
        const [only] = results;
        // Nearly always one message is handed over by itself, and then there is nothing to gather.
        const answers = results.length === 1 && only ? [await only] : await Promise.all(results);
        for (const [i, result] of answers.entries())
          if (result.kind === 'transient') answers[i] = spaced(result, messages[i]?.attempt ?? 1);
        return answers;
      },
    close: pool.close,
  };
}

/** One that fails before its request began was certainly not given away, and says nothing of the others. */
async function alone(
  handOne: Parameters<HttpCarrier['handOver']>[0],
  message: HandOver,
  mayLeave: MayLeave,
): Promise<HandOverResult> {
  let begun = false;
  try {
    return await handOne(message, () => (begun = mayLeave(message)));
  } catch (error) {
    const fault = faultOf(error);
    return begun ? { kind: 'unknown', fault } : { kind: 'transient', code: 'request_not_made', fault };
  }
}

/**
 * A carrier names the least wait. In trouble that lasts it names the same again and again, often a second or none, by which
 * the eight tries would be over within seconds. So each wait is also as long as the one that the service would have chosen.
 */
function spaced(result: Extract<HandOverResult, { kind: 'transient' }>, attempt: number): HandOverResult {
  if (result.retryAfterMs === undefined) return result;
  return { ...result, retryAfterMs: Math.max(result.retryAfterMs, handoverWaitMs(attempt)) };
}
