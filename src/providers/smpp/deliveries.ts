import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMITS } from '../../domain/limits';
import type { OptedOutCodes } from '../../domain/opted-out-codes';
import type { InboundSink, InboundSms, Receipt, ReceiptSink } from '../provider';
import { addressFrom } from './address';
import { readInbound } from './inbound-text';
import type { Pdu } from './library';
import type { InboundParts, JoinedPart } from './parts';
import { createReassembly } from './reassembly';
import { isReceipt, readReceipt, type SmppReceipt } from './receipt-text';
import type { SmppSession } from './session';
import { ACCEPTED, TEMPORARY_APPLICATION_ERROR } from './statuses';

/**
 * What a centre delivers: receipts and messages of subscribers. Each is acknowledged when the product has
 * taken it, and offered to it until then, so that the centre keeps what a killed process had not taken. Too
 * many at once are sent back with the status that means "later".
 */
export interface Deliveries {
  accept(pdu: Pdu, session: SmppSession): void;
  start(sink: ReceiptSink, inbound: InboundSink | undefined): void;
  /** Gives on what has become whole of parts that were stored, by this process or by others. */
  takeWhole(): Promise<void>;
  /** Waits for the call under way, and makes no other. */
  close(): Promise<void>;
}

interface Told<T> {
  what: T;
  acknowledge(): void;
}

export function createDeliveries(deps: {
  /** Maps receipts to messages and returns the unmatched ones unchanged. */
  resolve(receipts: readonly SmppReceipt[]): Promise<Receipt[]>;
  inboundParts: InboundParts;
  optedOut: OptedOutCodes | undefined;
  log: Logger | undefined;
}): Deliveries {
  const { resolve, inboundParts, optedOut, log } = deps;
  const closing = new AbortController();
  // Subscribers' messages have no number of their own, and two that are alike are two.
  const prefix = randomBytes(8).toString('hex');
  let numbered = 0;
  let held = 0;
  const unheard = createUnheard();
  let takeInbound: InboundSink = async () => undefined;
  let takeReceipts: ReceiptSink | undefined;

  const working = { closing: closing.signal, isStarted: () => takeReceipts !== undefined, log };
  const receipts = queueOf<SmppReceipt>(async (batch) => {
    const found = await resolve(batch);
    if (found.length > 0) await takeReceipts?.(found);
  }, working);
  const inbound = queueOf<InboundSms>((batch) => takeInbound([...batch]), working);
  const takeWhole = () => inboundParts.takeWhole((batch) => takeInbound(batch));
  const parts = queueOf<JoinedPart>(async (batch) => {
    await inboundParts.keep(batch);
    await takeWhole();
  }, working);
  const reassembly = createReassembly(({ from, to, text, taken }) => {
    const id = `smpp-${prefix}-${numbered++}`;
    inbound.add({ what: { id, from, to, text, at: new Date().toISOString() }, acknowledge: taken });
  }, parts.add);

  return {
    accept(pdu, session) {
      if (closing.signal.aborted) return;
      if (held >= LIMITS.smppDeliveries) return session.respond(pdu, TEMPORARY_APPLICATION_ERROR);
      if (unheard.isRepeated(pdu, session)) return;
      held += 1;
      const acknowledge = unheard.add(pdu, session, () => void held--);
      if (isReceipt(pdu)) {
        const receipt = readReceipt(pdu, optedOut);
        // A message that is still on its way has no new state, and a receipt without an id names none.
        if (receipt?.type) return receipts.add({ what: receipt, acknowledge });
        return acknowledge();
      }
      const part = readInbound(pdu);
      if (!part) return acknowledge();
      const from = addressFrom(pdu.source_addr ?? '', pdu.source_addr_ton);
      const to = addressFrom(pdu.destination_addr ?? '', pdu.dest_addr_ton);
      reassembly.add({ from, to, part, acknowledge });
    },
    start(sink, inboundSink) {
      takeReceipts = sink;
      if (inboundSink) takeInbound = inboundSink;
      else takeInbound = async (batch) => log?.info({ count: batch.length }, 'inbound SMS were received');
      receipts.wake();
      inbound.wake();
      parts.wake();
    },
    takeWhole,
    async close() {
      closing.abort();
      reassembly.close();
      await Promise.all([receipts.idle(), inbound.idle(), parts.idle()]);
    },
  };
}

/** One call at a time, with all that came during the one before. */
function queueOf<T>(
  take: (batch: readonly T[]) => Promise<void>,
  { closing, isStarted, log }: { closing: AbortSignal; isStarted(): boolean; log: Logger | undefined },
) {
  let waiting: Told<T>[] = [];
  let working: Promise<void> | undefined;

  async function work(): Promise<void> {
    while (waiting.length > 0 && !closing.aborted) {
      const batch = waiting.slice(0, LIMITS.receiptBatch);
      const taken = await offer(batch.map(({ what }) => what));
      if (!taken) return;
      waiting = waiting.slice(batch.length);
      for (const { acknowledge } of batch) acknowledge();
    }
  }

  async function offer(batch: readonly T[]): Promise<boolean> {
    for (let waitMs = 50; ; waitMs = Math.min(2 * waitMs, 5_000)) {
      try {
        await take(batch);
        return true;
      } catch (error) {
        log?.warn(
          { count: batch.length, err: error },
          'Deliveries of the SMS centre could not be stored; trying again',
        );
      }
      await delay(waitMs, undefined, { signal: closing }).catch(() => undefined);
      if (closing.aborted) return false;
    }
  }

  const wake = (): void => {
    if (!isStarted()) return;
    working ??= Promise.resolve()
      .then(work)
      .finally(() => {
        working = undefined;
        if (waiting.length > 0 && !closing.aborted) wake();
      });
  };
  return {
    add(told: Told<T>) {
      waiting.push(told);
      wake();
    },
    wake,
    idle: async () => working,
  };
}

/**
 * Subscribers' messages that were not acknowledged before their session ended, or whose acknowledgement may be lost with it.
 * The centre sends each of them once more, and that is no second message. The same text on a session that stands, or after
 * the centre has heard that it was acknowledged, is one: a person wrote it twice.
 */
interface Unheard {
  /** Returns how to acknowledge it, on the session where the centre waits for that now. */
  add(pdu: Pdu, session: SmppSession, taken: () => void): () => void;
  /** It is acknowledged when the first is, which may be at once. */
  isRepeated(pdu: Pdu, session: SmppSession): boolean;
}

interface Unanswered {
  pdu: Pdu;
  /** Both addresses. */
  between: string;
  session: SmppSession;
  /** When it was taken, after its session had ended. */
  takenMs: number | undefined;
  /** When it was acknowledged, on a session that stood. */
  answeredMs: number | undefined;
}

/** What was answered so long before the centre last wrote has reached it. */
const ANSWER_ARRIVES_MS = 2_000;
const mayBeLost = ({ answeredMs, session }: Unanswered): boolean =>
  answeredMs === undefined || answeredMs > session.lastHeardMs - ANSWER_ARRIVES_MS;
const isDone = ({ takenMs, answeredMs }: Unanswered): boolean =>
  takenMs !== undefined || answeredMs !== undefined;
/** It may come again. */
const counts = (one: Unanswered): boolean =>
  mayBeLost(one) && Date.now() - (one.takenMs ?? one.answeredMs ?? Date.now()) <= LIMITS.smppRepeatMs;

function createUnheard(): Unheard {
  const byContent = new Map<string, Unanswered[]>();

  function forget(key: string, one: Unanswered): void {
    const others = (byContent.get(key) ?? []).filter((other) => other !== one);
    if (others.length > 0) byContent.set(key, others);
    else byContent.delete(key);
  }

  /** What a person writes anew stands after what may come again: a STOP that follows on a START is another STOP. */
  function forgetEarlier(between: string): void {
    for (const [key, all] of byContent)
      for (const one of all)
        if (one.between === between && isDone(one) && !one.session.isOpen) forget(key, one);
  }

  return {
    add(pdu, session, taken) {
      // A receipt that comes again changes nothing, and there are far more of them.
      if (isReceipt(pdu))
        return () => {
          taken();
          session.respond(pdu, ACCEPTED);
        };
      const key = contentOf(pdu);
      const between = `${pdu.source_addr} ${pdu.destination_addr}`;
      forgetEarlier(between);
      const one: Unanswered = { pdu, between, session, takenMs: undefined, answeredMs: undefined };
      // Few are left: the centre writes again within seconds.
      for (const [former, all] of byContent) {
        if (all.some(counts)) break;
        byContent.delete(former);
      }
      const [oldest] = byContent.keys();
      if (byContent.size >= 2 * LIMITS.smppDeliveries && oldest !== undefined) byContent.delete(oldest);
      const others = (byContent.get(key) ?? []).filter(counts);
      // The oldest content is forgotten first.
      byContent.delete(key);
      byContent.set(key, [...others, one]);
      return () => {
        taken();
        if (one.session.isOpen) {
          one.session.respond(one.pdu, ACCEPTED);
          one.answeredMs = Date.now();
        } else one.takenMs = Date.now();
      };
    },
    isRepeated(pdu, session) {
      if (byContent.size === 0 || isReceipt(pdu)) return false;
      const key = contentOf(pdu);
      for (const one of byContent.get(key)?.filter((other) => !other.session.isOpen) ?? []) {
        if (!isDone(one)) {
          one.pdu = pdu;
          one.session = session;
          return true;
        }
        forget(key, one);
        if (!counts(one)) continue;
        session.respond(pdu, ACCEPTED);
        return true;
      }
      return false;
    },
  };
}

/** All but the number of the PDU, which is another each time. */
function contentOf(pdu: Pdu): string {
  const { command, source_addr, destination_addr, esm_class, data_coding, short_message, message_payload } =
    pdu;
  return JSON.stringify([
    ...[command, source_addr, destination_addr, esm_class, data_coding, short_message, message_payload],
    ...[pdu.sar_msg_ref_num, pdu.sar_segment_seqnum],
  ]);
}
