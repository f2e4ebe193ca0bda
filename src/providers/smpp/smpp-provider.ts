import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMITS } from '../../domain/limits';
import type { OptedOutCodes } from '../../domain/opted-out-codes';
import { anyMayLeave, type MayLeave, type Provider, type Receipt, type ReceiptSink } from '../provider';
import { keepBound } from './bind';
import { createDeliveries } from './deliveries';
import { PartIds } from './part-ids';
import type { PartReceipt, SmsParts } from './parts';
import { createPool } from './pool';
import type { SmppReceipt } from './receipt-text';
import type { SessionTimes } from './session';
import { type MessageIdForm, readEndpoints, tlvFields } from './settings';
import { createSubmit } from './submit';

export interface SmppProviderOptions {
  /** smpp(s)://system_id:password@host:port, one or several with commas between them. */
  url: string;
  /** Sessions to each address. */
  binds: number;
  /** Unanswered submit_sm on each. */
  window: number;
  messageId: MessageIdForm;
  /** Vendor TLVs of every submit_sm: tag, and value as text. */
  tlvs: Record<string, string>;
  /** The operator's codes that mean so. */
  optedOut?: OptedOutCodes | undefined;
  parts: SmsParts;
  log?: Logger | undefined;
  /** Certificates that are trusted in place of Node's own. */
  ca?: Buffer | undefined;
  /** Shorter in tests. */
  times?: SessionTimes | undefined;
}

const TIMES: SessionTimes = { answerMs: LIMITS.smppAnswerMs, enquireMs: LIMITS.smppEnquireMs };
/** How often receipts that were put aside are looked for: those that another process received. */
const EARLY_LOOK_MS = 15_000;

/**
 * Hands messages to an SMS centre by SMPP 3.4. Nothing is idempotent there: a submit_sm whose answer is lost
 * leaves its message `unknown`. docs/sms.md says what is supported, decision 17 how parts and receipts meet.
 */
export function openSmppProvider(options: SmppProviderOptions): Provider {
  const { optedOut, parts, log, times = TIMES } = options;
  const { endpoints, longAsPayload, sendsReference } = readEndpoints(options.url);
  const partIds = new PartIds(options.messageId);
  const underWay = new Set<Promise<unknown>>();
  const deliveries = createDeliveries({ resolve, optedOut, log });
  const binds = endpoints.flatMap((endpoint) =>
    Array.from({ length: options.binds }, () =>
      keepBound({
        endpoint: { ...endpoint, ca: options.ca },
        times,
        window: options.window,
        onDelivery: deliveries.accept,
        onChange: () => pool.look(),
        log,
      }),
    ),
  );
  const pool = createPool(binds);
  // A kill leaves whole batches in doubt: no more of a batch is written than the windows hold, and the others
  // would only wait in it.
  const batchMax = Math.min(LIMITS.handoverBatch, binds.length * options.window);
  const submit = createSubmit({
    pool,
    longAsPayload,
    sendsReference,
    tlvs: tlvFields(options.tlvs),
    optedOut,
    onPart: (part) => partIds.add(part),
    log,
  });
  let sink: ReceiptSink | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  /** A receipt may be quicker than the answer to its submit_sm, and than what is made of that here. */
  async function resolve(told: readonly SmppReceipt[]): Promise<Receipt[]> {
    const known = told.map(({ partId }) => partIds.find(partId));
    if (underWay.size > 0 && known.some((part) => !part)) {
      const patience = new AbortController();
      const limit = delay(LIMITS.smppEarlyMs, undefined, { signal: patience.signal }).catch(() => undefined);
      await Promise.race([Promise.allSettled([...underWay]), limit]);
      patience.abort();
    }
    const found: Receipt[] = [];
    const asked: PartReceipt[] = [];
    for (const [i, one] of told.entries()) {
      const part = known[i] ?? partIds.find(one.partId);
      const receipt = receiptOf(one);
      if (part?.parts === 1) found.push({ id: part.messageId, ...receipt });
      else
        asked.push({
          candidates: part ? [part.partId] : partIds.candidates(one.partId),
          known: part,
          receipt,
          about: one.about,
        });
    }
    return asked.length === 0 ? found : [...found, ...(await parts.resolve(asked))];
  }

  async function handOver(messages: Parameters<Provider['handOver']>[0], mayLeave: MayLeave) {
    const submitted = await Promise.all(messages.map((message) => submit(message, mayLeave)));
    const long = submitted.flatMap((one) => one.long ?? []);
    if (long.length > 0) {
      // Were it not written, receipts that come to this process would still find their messages.
      await parts.record(long).catch((error: unknown) => {
        log?.error({ err: error, count: long.length }, 'The parts of long messages could not be recorded');
      });
    }
    return submitted.map(({ result }) => result);
  }

  function takeEarly(): void {
    const tell: ReceiptSink = async (receipts) => {
      if (!closing) await sink?.(receipts);
    };
    const look = async () => {
      await parts.takeEarly(tell);
      await parts.settleLost(tell, { asOnePart: longAsPayload });
    };
    track(look()).catch((error: unknown) => {
      log?.warn({ err: error }, 'Receipts that were put aside could not be read; trying again');
    });
  }

  const ending = new Set<Promise<unknown>>();
  function track<T>(promise: Promise<T>): Promise<T> {
    ending.add(promise);
    const done = () => ending.delete(promise);
    promise.then(done, done);
    return promise;
  }

  async function close(): Promise<void> {
    clearInterval(timer);
    pool.close();
    const patience = new AbortController();
    const limit = delay(LIMITS.httpDrainMs, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled([...underWay]), limit]);
    patience.abort();
    await deliveries.close();
    await Promise.allSettled([...ending]);
    await Promise.all(binds.map((bind) => bind.close()));
    await Promise.allSettled([...underWay]);
  }

  return {
    name: 'smpp',
    channel: 'sms',
    capabilities: { idempotent: false, receipts: true, batchMax, parallel: batchMax, answersEach: true },
    async start(receipts, inbound) {
      sink = receipts;
      deliveries.start(receipts, inbound);
      timer = setInterval(takeEarly, EARLY_LOOK_MS);
      timer.unref();
      takeEarly();
    },
    async handOver(messages, mayLeave = anyMayLeave) {
      if (messages.length > batchMax) {
        throw new RangeError(`${messages.length} messages in a hand-over of at most ${batchMax}`);
      }
      const results = handOver(messages, mayLeave);
      underWay.add(results);
      return results.finally(() => underWay.delete(results));
    },
    close: () => (closing ??= close()),
  };
}

function receiptOf({ type, code, carrierCode, doneDate }: SmppReceipt): PartReceipt['receipt'] {
  const data = {
    // By the centre's clock, and in its zone, which it does not name.
    ...(doneDate === undefined ? {} : { doneDate: doneDate.slice(0, 20) }),
    ...(carrierCode === undefined ? {} : { carrierCode }),
  };
  return {
    type: type ?? 'undelivered',
    code,
    data: Object.keys(data).length === 0 ? undefined : data,
  };
}
