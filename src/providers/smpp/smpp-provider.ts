import { setTimeout as delay } from 'node:timers/promises';
import type { Logger } from 'pino';
import { LIMITS } from '../../domain/limits';
import type { OptedOutCodes } from '../../domain/opted-out-codes';
import { anyMayLeave, type MayLeave, type Provider, type Receipt, type ReceiptSink } from '../provider';
import { isSameNumber } from './address';
import { type Bind, keepBound } from './bind';
import { createDeliveries, type Deliveries } from './deliveries';
import { PartIds } from './part-ids';
import type { InboundParts, PartReceipt, SmsParts } from './parts';
import { createPool, type Pool } from './pool';
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
  inboundParts: InboundParts;
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
  return new SmppProvider(options);
}

class SmppProvider implements Provider {
  private readonly times: SessionTimes;
  private readonly longAsPayload: boolean;
  private readonly partIds: PartIds;
  private readonly underWay = new Set<Promise<unknown>>();
  private readonly deliveries: Deliveries;
  private readonly binds: Bind[];
  private readonly pool: Pool;
  // A kill leaves whole batches in doubt: no more of a batch is written than the windows hold, and the others
  // would only wait in it.
  private readonly batchMax: number;
  private readonly submit: ReturnType<typeof createSubmit>;
  private sink: ReceiptSink | undefined;
  private timer: NodeJS.Timeout | undefined;
  private closing: Promise<void> | undefined;
  private readonly ending = new Set<Promise<unknown>>();
  readonly name: Provider['name'];
  readonly channel: Provider['channel'];
  readonly capabilities: Provider['capabilities'];

  constructor(private readonly options: SmppProviderOptions) {
    this.times = options.times ?? TIMES;
    const { endpoints, longAsPayload, sendsReference } = readEndpoints(options.url);
    this.longAsPayload = longAsPayload;
    this.partIds = new PartIds(options.messageId);
    this.deliveries = createDeliveries({
      resolve: this.resolve,
      inboundParts: options.inboundParts,
      optedOut: options.optedOut,
      log: options.log,
    });
    this.binds = endpoints.flatMap((endpoint) =>
      Array.from({ length: this.options.binds }, () =>
        keepBound({
          endpoint: { ...endpoint, ca: this.options.ca },
          times: this.times,
          window: this.options.window,
          onDelivery: this.deliveries.accept,
          onChange: () => this.pool.look(),
          log: this.options.log,
        }),
      ),
    );
    this.pool = createPool(this.binds);
    this.batchMax = Math.min(LIMITS.handoverBatch, this.binds.length * options.window);
    this.submit = createSubmit({
      pool: this.pool,
      longAsPayload,
      sendsReference,
      tlvs: tlvFields(options.tlvs),
      optedOut: options.optedOut,
      onPart: (part) => this.partIds.add(part),
      log: options.log,
    });
    this.name = 'smpp';
    this.channel = 'sms';
    this.capabilities = {
      idempotent: false,
      receipts: true,
      batchMax: this.batchMax,
      parallel: this.batchMax,
      answersEach: true,
    };
  }

  readonly start: Provider['start'] = async (receipts, inbound) => {
    this.sink = receipts;
    this.deliveries.start(receipts, inbound);
    this.timer = setInterval(this.takeEarly, EARLY_LOOK_MS);
    this.timer.unref();
    this.takeEarly();
  };

  readonly handOver: Provider['handOver'] = async (messages, mayLeave = anyMayLeave) => {
    if (messages.length > this.batchMax) {
      throw new RangeError(`${messages.length} messages in a hand-over of at most ${this.batchMax}`);
    }
    const results = this.submitAll(messages, mayLeave);
    this.underWay.add(results);
    return results.finally(() => this.underWay.delete(results));
  };

  readonly close: Provider['close'] = () => (this.closing ??= this.closeAll());

  /** A receipt may be quicker than the answer to its submit_sm, and than what is made of that here. */
  private readonly resolve = async (told: readonly SmppReceipt[]): Promise<Receipt[]> => {
    const known = told.map(({ partId }) => this.partIds.find(partId));
    if (this.underWay.size > 0 && known.some((part) => !part)) {
      const patience = new AbortController();
      const limit = delay(LIMITS.smppEarlyMs, undefined, { signal: patience.signal }).catch(() => undefined);
      await Promise.race([Promise.allSettled([...this.underWay]), limit]);
      patience.abort();
    }
    const found: Receipt[] = [];
    const asked: PartReceipt[] = [];
    for (const [i, one] of told.entries()) {
      const part = known[i] ?? this.partIds.find(one.partId);
      const receipt = receiptOf(one);
      // A centre that has begun to count again may mean a message whose answer is still on its way, maybe to another process.
      const isTheirs = part && (!one.about || isSameNumber(part.to, one.about.to));
      if (isTheirs && part.parts === 1) found.push({ id: part.messageId, ...receipt });
      else
        asked.push({
          candidates: part ? [part.partId] : this.partIds.candidates(one.partId),
          known: isTheirs ? part : undefined,
          receipt,
          about: one.about,
        });
    }
    return asked.length === 0 ? found : [...found, ...(await this.options.parts.resolve(asked))];
  };

  private async submitAll(messages: Parameters<Provider['handOver']>[0], mayLeave: MayLeave) {
    const submitted = await Promise.all(messages.map((message) => this.submit(message, mayLeave)));
    const long = submitted.flatMap((one) => one.long ?? []);
    if (long.length > 0) {
      // Were it not written, receipts that come to this process would still find their messages.
      await this.options.parts.record(long).catch((error: unknown) => {
        this.options.log?.error(
          { err: error, count: long.length },
          'The parts of long messages could not be recorded',
        );
      });
    }
    return submitted.map(({ result }) => result);
  }

  private readonly takeEarly = (): void => {
    const tell: ReceiptSink = async (receipts) => {
      if (!this.closing) await this.sink?.(receipts);
    };
    const look = async () => {
      await this.options.parts.takeEarly(tell);
      await this.options.parts.settleLost(tell, { asOnePart: this.longAsPayload });
      if (!this.closing) await this.deliveries.takeWhole();
    };
    this.track(look()).catch((error: unknown) => {
      this.options.log?.warn(
        { err: error },
        'Receipts and parts that were put aside could not be read; trying again',
      );
    });
  };

  private track<T>(promise: Promise<T>): Promise<T> {
    this.ending.add(promise);
    const done = () => this.ending.delete(promise);
    promise.then(done, done);
    return promise;
  }

  private async closeAll(): Promise<void> {
    clearInterval(this.timer);
    this.pool.close();
    const patience = new AbortController();
    const limit = delay(LIMITS.httpDrainMs, undefined, { signal: patience.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled([...this.underWay]), limit]);
    patience.abort();
    await this.deliveries.close();
    await Promise.allSettled([...this.ending]);
    await Promise.all(this.binds.map((bind) => bind.close()));
    await Promise.allSettled([...this.underWay]);
  }
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
