import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../../domain/limits';
import type { SmtpRelayAddress } from '../../domain/smtp-relays';
import type { Log } from '../../log';
import { anyMayLeave, type HandOver, type HandOverResult, type MayLeave, type Provider } from '../provider';
import { createDestinations } from './destinations';
import { createDkimSigners, type DkimKeys, type DkimOptions } from './dkim';
import { composeMail, domainOf, splitSender, writeHeaders } from './mail-message';
import { createRelayChoice } from './relay-choice';
import { createReturnPath, type ReturnPath } from './return-path';
import { createSenderBreaker } from './sender-breaker';
import { classify, retryGapMs } from './smtp-codes';
import { openSmtpInbound, type SmtpInbound, type SmtpListen } from './smtp-inbound';
import { createSmtpRelay, type RelayOutcome, type SmtpRelay } from './smtp-relay';
import type { SmtpTimeouts, SmtpUnreachable } from './smtp-session';

export interface SmtpProviderOptions {
  relays: readonly SmtpRelayAddress[];
  /** Connections to each relay. */
  connections?: number | undefined;
  heloName?: string | undefined;
  dkim?: DkimOptions | undefined;
  /** The key of a domain that has one of its own, which goes before `dkim`. */
  dkimOf?: DkimKeys | undefined;
  /** Domain of the envelope senders, and the secret by which we know our own; else the sender's own address. */
  returnPath?: { domain: string; secret: string } | undefined;
  /** Headers by which the relay's own events name our message; it reports by HTTP then (mail-events). */
  eventHeaders?: ((messageId: string) => [string, string][]) | undefined;
  /** Where reports and unsubscribing mails come in. */
  listen?: SmtpListen | undefined;
  /** Takes the token of an unsubscribing mail; rejects to get it again. Without it none is taken. */
  unsubscribe?: ((token: string) => Promise<void>) | undefined;
  log: Log;
  /** Shorter in tests. */
  timeouts?: Partial<SmtpTimeouts> | undefined;
  ca?: Buffer | undefined;
}

/**
 * Hands email to relays by SMTP. A relay that accepts a message answers for it; what becomes of it later
 * comes back as mail, to the listener (smtp-inbound.ts). SMTP knows no repetition: a message whose verdict
 * was lost is in doubt, and is never offered again.
 */
export interface SmtpProvider extends Provider {
  /** Where the listener is; `undefined` before `start`, and without one. */
  readonly inboundPort: number | undefined;
}

export function openSmtpProvider(options: SmtpProviderOptions): SmtpProvider {
  return new SmtpRelayProvider(options);
}

class SmtpRelayProvider implements SmtpProvider {
  private readonly connections: number;
  private readonly timeouts: { connectMs: number; answerMs: number };
  private readonly relays: SmtpRelay[];
  private readonly choose: (tried: ReadonlySet<SmtpRelay>) => SmtpRelay | undefined;
  private readonly destinations = createDestinations();
  private readonly breaker: ReturnType<typeof createSenderBreaker>;
  private readonly signerOf: ReturnType<typeof createDkimSigners>;
  private readonly returnPath: ReturnPath | undefined;
  private readonly batchMax: number;
  private readonly underWay = new Set<Promise<unknown>>();
  private inbound: SmtpInbound | undefined;
  private closing: Promise<void> | undefined;
  readonly name: SmtpProvider['name'];
  readonly channel: SmtpProvider['channel'];
  // Without the listener or the relay's events, nothing more is known.
  readonly capabilities: SmtpProvider['capabilities'];

  constructor(private readonly options: SmtpProviderOptions) {
    this.connections = options.connections ?? LIMITS.smtpConnectionsDefault;
    this.timeouts = { connectMs: LIMITS.smtpConnectMs, answerMs: LIMITS.smtpAnswerMs, ...options.timeouts };
    this.relays = options.relays.map((address) =>
      createSmtpRelay({
        address,
        connections: this.connections,
        heloName: this.options.heloName,
        timeouts: this.timeouts,
        ca: this.options.ca,
      }),
    );
    this.choose = createRelayChoice(this.relays, this.connections);
    this.breaker = createSenderBreaker({
      onClosed: (sender, pauseMs) =>
        this.options.log.error(
          { sender, pauseMs },
          'Mail of this sender domain is refused by its receivers; it waits',
        ),
    });
    this.signerOf = createDkimSigners(options.dkim, options.dkimOf);
    this.returnPath =
      options.returnPath && createReturnPath(options.returnPath.domain, options.returnPath.secret);
    this.batchMax = Math.min(
      LIMITS.handoverBatch,
      this.relays.length * this.connections * LIMITS.smtpBatchPerConnection,
    );
    this.name = 'smtp';
    this.channel = 'email';
    this.capabilities = {
      idempotent: false,
      receipts: options.listen !== undefined || options.eventHeaders !== undefined,
      batchMax: this.batchMax,
      parallel: this.relays.length * this.connections,
      answersEach: true,
    };
  }

  get inboundPort(): SmtpProvider['inboundPort'] {
    return this.inbound?.port;
  }

  readonly start: SmtpProvider['start'] = async (sink) => {
    if (!this.options.listen || !this.returnPath || this.closing) return;
    this.inbound = await openSmtpInbound({
      ...this.options.listen,
      returnPath: this.returnPath,
      sink,
      unsubscribe: this.options.unsubscribe,
      log: this.options.log,
    });
  };

  readonly handOver: SmtpProvider['handOver'] = async (messages, mayLeave = anyMayLeave) => {
    if (messages.length > this.batchMax) {
      throw new RangeError(`${messages.length} messages in a hand-over of at most ${this.batchMax}`);
    }
    const deadlineMs = Date.now() + LIMITS.smtpBatchMs;
    const results = Promise.all(
      messages.map((message) =>
        this.handOne(message, deadlineMs, mayLeave).catch((error: unknown): HandOverResult => {
          this.options.log.error({ err: error, id: message.id }, 'A mail failed in an unforeseen way');
          return { kind: 'unknown' };
        }),
      ),
    );
    this.underWay.add(results);
    try {
      return await results;
    } finally {
      this.underWay.delete(results);
    }
  };

  readonly close: SmtpProvider['close'] = () => {
    this.closing ??= this.closeAll();
    return this.closing;
  };

  private async handOne(message: HandOver, deadlineMs: number, mayLeave: MayLeave): Promise<HandOverResult> {
    if (this.closing) return CLOSED;
    // Apart by workspace: what one does to its reputation closes no way of another with the same domain.
    const sender = `${message.workspaceId ?? ''} ${domainOf(splitSender(message.from).address)}`;
    const turn = this.breaker.ask(sender);
    if (turn.kind === 'closed') return senderWaits(turn.retryAfterMs);
    const host = domainOf(message.to);
    const entry = await this.destinations.enter(host, deadlineMs);
    if (entry.kind === 'wait') {
      return { kind: 'throttled', retryAfterMs: entry.retryAfterMs, scope: 'message' };
    }
    let senderWaitMs: number | undefined;
    try {
      const { mime, messageId } = await this.write(message);
      const outcome = await this.relay({
        envelope: { from: envelopeSender(message, this.returnPath), to: message.to },
        mime,
        deadlineMs,
        isVetoed: () =>
          !mayLeave(message) ||
          this.destinations.silentMs(host) > 0 ||
          (turn.kind !== 'trial' && this.breaker.closedMs(sender) > 0),
        learn: (outcome) => {
          if (outcome.kind === 'accepted') {
            this.breaker.taken(sender);
            entry.leave('taken');
          } else if (outcome.kind === 'refused') {
            const { class: kind } = classify(outcome.reply, outcome.stage);
            if (kind === 'sender') senderWaitMs = this.breaker.refused(sender);
            if (kind === 'slow_down') entry.leave('slow_down');
          }
        },
      });
      if (outcome.kind === 'accepted') return { kind: 'accepted', providerId: messageId };
      if (outcome.kind === 'not_begun' && !this.closing) {
        return mayLeave(message) ? this.waiting(host, sender) : { kind: 'stayed' };
      }
      return resultOf(outcome, message, senderWaitMs);
    } finally {
      entry.leave('other');
    }
  }

  /** Its turn came too late, or was taken from it. */
  private waiting(host: string, sender: string): HandOverResult {
    const silentMs = this.destinations.silentMs(host);
    if (silentMs > 0) return { kind: 'throttled', retryAfterMs: silentMs, scope: 'message' };
    const closedMs = this.breaker.closedMs(sender);
    if (closedMs > 0) return senderWaits(closedMs);
    return { kind: 'throttled', retryAfterMs: NOT_BEGUN_MS, scope: 'message' };
  }

  private async write(message: HandOver): Promise<{ mime: Buffer; messageId: string }> {
    const { headers, body, messageId } = composeMail(message, Date.now());
    headers.push(...(this.options.eventHeaders?.(message.id) ?? []));
    let head = writeHeaders(headers);
    const signer = this.signerOf(domainOf(splitSender(message.from).address));
    if (signer) head = `DKIM-Signature: ${await signer.sign(headers, body)}\r\n${head}`;
    // Every byte is ASCII by now.
    return { mime: Buffer.from(`${head}\r\n${body}`, 'latin1'), messageId };
  }

  /** The next relay is tried only while no relay has received any of the message. */
  private async relay(mail: Parameters<SmtpRelay['deliver']>[0]): Promise<RelayOutcome> {
    const tried = new Set<SmtpRelay>();
    let last: RelayOutcome = { kind: 'not_begun' };
    for (;;) {
      const isLate = tried.size > 0 && Date.now() > mail.deadlineMs;
      const next = this.closing || isLate ? undefined : this.choose(tried);
      if (!next) return last;
      const outcome = await next.deliver(mail);
      if (outcome.kind !== 'unreachable' && outcome.kind !== 'not_offered') return outcome;
      // A refused log-in must not be hidden by another relay's being away.
      if (!(last.kind === 'unreachable' && last.reason.account)) last = outcome;
      tried.add(next);
    }
  }

  private async closeAll(): Promise<void> {
    await this.inbound?.close();
    for (const one of this.relays) one.drain();
    const giveUp = new AbortController();
    const patience = delay(LIMITS.smtpDrainMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(this.underWay), patience]);
    giveUp.abort();
    for (const one of this.relays) one.close();
    await Promise.allSettled(this.underWay);
  }
}

const CLOSED: HandOverResult = { kind: 'transient', code: 'closed' };
const NOT_BEGUN_MS = 1_000;
const RELAY_PAUSE_MS = 15_000;

const senderWaits = (retryAfterMs: number): HandOverResult => ({
  kind: 'throttled',
  retryAfterMs,
  scope: 'sender',
});

function resultOf(
  outcome: Exclude<RelayOutcome, { kind: 'accepted' }>,
  { attempt }: HandOver,
  senderWaitMs: number | undefined,
): HandOverResult {
  const retryAfterMs = retryGapMs(attempt);
  switch (outcome.kind) {
    case 'unknown':
      return { kind: 'unknown' };
    case 'not_begun':
      return CLOSED;
    case 'not_offered':
      return { kind: 'transient', code: outcome.code, retryAfterMs };
    case 'unreachable':
      return unreachable(outcome.reason, retryAfterMs);
    case 'refused':
      return refused(outcome, retryAfterMs, senderWaitMs);
  }
}

function refused(
  { reply, stage }: Extract<RelayOutcome, { kind: 'refused' }>,
  retryAfterMs: number,
  senderWaitMs: number | undefined,
): HandOverResult {
  const { class: kind, code, orRecipient } = classify(reply, stage);
  switch (kind) {
    case 'rejected':
      return { kind, code, message: reply.text };
    case 'account':
      return { kind, code, message: reply.text, ...(orRecipient && { orRecipient }) };
    case 'transient':
      return { kind, code, retryAfterMs };
    case 'relay_slow_down':
      return { kind: 'throttled', retryAfterMs: RELAY_PAUSE_MS };
    case 'slow_down':
      return { kind: 'throttled', retryAfterMs: LIMITS.smtpSilenceFirstMs, scope: 'message' };
    case 'sender':
      if (senderWaitMs === undefined) return { kind: 'transient', code, retryAfterMs };
      return senderWaits(senderWaitMs);
  }
}

function unreachable({ account, code, reply }: SmtpUnreachable, retryAfterMs: number): HandOverResult {
  if (!account) return { kind: 'transient', code, retryAfterMs, unreached: true };
  return {
    kind: 'account',
    code: reply?.refusesAccount ?? reply?.enhanced ?? code,
    message: reply?.text ?? 'The relay cannot be trusted',
  };
}

function envelopeSender(message: HandOver, returnPath: ReturnPath | undefined): string {
  return returnPath?.addressFor(message.id) ?? splitSender(message.from).address;
}
