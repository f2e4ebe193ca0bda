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
  /** To each relay. */
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
  const { log, connections = LIMITS.smtpConnectionsDefault } = options;
  const timeouts = { connectMs: LIMITS.smtpConnectMs, answerMs: LIMITS.smtpAnswerMs, ...options.timeouts };
  const relays = options.relays.map((address) =>
    createSmtpRelay({ address, connections, heloName: options.heloName, timeouts, ca: options.ca }),
  );
  const choose = createRelayChoice(relays, connections);
  const destinations = createDestinations();
  const breaker = createSenderBreaker({
    onClosed: (sender, pauseMs) =>
      log.error({ sender, pauseMs }, 'Mail of this sender domain is refused by its receivers; it waits'),
  });
  const signerOf = createDkimSigners(options.dkim, options.dkimOf);
  const returnPath =
    options.returnPath && createReturnPath(options.returnPath.domain, options.returnPath.secret);
  const batchMax = Math.min(
    LIMITS.handoverBatch,
    relays.length * connections * LIMITS.smtpBatchPerConnection,
  );
  const underWay = new Set<Promise<unknown>>();
  let inbound: SmtpInbound | undefined;
  let closing: Promise<void> | undefined;

  async function handOne(message: HandOver, deadlineMs: number, mayLeave: MayLeave): Promise<HandOverResult> {
    if (closing) return CLOSED;
    // Apart by workspace: what one does to its reputation closes no way of another with the same domain.
    const sender = `${message.workspaceId ?? ''} ${domainOf(splitSender(message.from).address)}`;
    const turn = breaker.ask(sender);
    if (turn.kind === 'closed') return senderWaits(turn.retryAfterMs);
    const host = domainOf(message.to);
    const entry = await destinations.enter(host, deadlineMs);
    if (entry.kind === 'wait') {
      return { kind: 'throttled', retryAfterMs: entry.retryAfterMs, scope: 'message' };
    }
    let senderWaitMs: number | undefined;
    try {
      const { mime, messageId } = await write(message);
      const outcome = await relay({
        envelope: { from: envelopeSender(message, returnPath), to: message.to },
        mime,
        deadlineMs,
        isVetoed: () =>
          !mayLeave(message) ||
          destinations.silentMs(host) > 0 ||
          (turn.kind !== 'trial' && breaker.closedMs(sender) > 0),
        learn(outcome) {
          if (outcome.kind === 'accepted') {
            breaker.taken(sender);
            entry.leave('taken');
          } else if (outcome.kind === 'refused') {
            const { class: kind } = classify(outcome.reply, outcome.stage);
            if (kind === 'sender') senderWaitMs = breaker.refused(sender);
            // Before a relay knows the recipient, its answer is about itself.
            if (kind === 'slow_down' && outcome.stage !== 'mail') entry.leave('slow_down');
          }
        },
      });
      if (outcome.kind === 'accepted') return { kind: 'accepted', providerId: messageId };
      if (outcome.kind === 'not_begun' && !closing) {
        return mayLeave(message) ? waiting(host, sender) : { kind: 'stayed' };
      }
      return resultOf(outcome, message, senderWaitMs);
    } finally {
      entry.leave('other');
    }
  }

  /** Its turn came too late, or was taken from it. */
  function waiting(host: string, sender: string): HandOverResult {
    const silentMs = destinations.silentMs(host);
    if (silentMs > 0) return { kind: 'throttled', retryAfterMs: silentMs, scope: 'message' };
    const closedMs = breaker.closedMs(sender);
    if (closedMs > 0) return senderWaits(closedMs);
    return { kind: 'throttled', retryAfterMs: NOT_BEGUN_MS, scope: 'message' };
  }

  async function write(message: HandOver): Promise<{ mime: Buffer; messageId: string }> {
    const { headers, body, messageId } = composeMail(message, Date.now());
    headers.push(...(options.eventHeaders?.(message.id) ?? []));
    let head = writeHeaders(headers);
    const signer = signerOf(domainOf(splitSender(message.from).address));
    if (signer) head = `DKIM-Signature: ${await signer.sign(headers, body)}\r\n${head}`;
    // Every byte is ASCII by now.
    return { mime: Buffer.from(`${head}\r\n${body}`, 'latin1'), messageId };
  }

  /** The next relay is asked only as long as none has got anything. */
  async function relay(mail: Parameters<SmtpRelay['deliver']>[0]): Promise<RelayOutcome> {
    const tried = new Set<SmtpRelay>();
    let last: RelayOutcome = { kind: 'not_begun' };
    for (;;) {
      const isLate = tried.size > 0 && Date.now() > mail.deadlineMs;
      const next = closing || isLate ? undefined : choose(tried);
      if (!next) return last;
      const outcome = await next.deliver(mail);
      if (outcome.kind !== 'unreachable' && outcome.kind !== 'not_offered') return outcome;
      // A refused log-in must not be hidden by another relay's being away.
      if (!(last.kind === 'unreachable' && last.reason.account)) last = outcome;
      tried.add(next);
    }
  }

  return {
    name: 'smtp',
    channel: 'email',
    // Without the listener or the relay's events, nothing more is known.
    capabilities: {
      idempotent: false,
      receipts: options.listen !== undefined || options.eventHeaders !== undefined,
      batchMax,
      parallel: relays.length * connections,
      answersEach: true,
    },
    get inboundPort() {
      return inbound?.port;
    },
    async start(sink) {
      if (!options.listen || !returnPath || closing) return;
      inbound = await openSmtpInbound({
        ...options.listen,
        returnPath,
        sink,
        unsubscribe: options.unsubscribe,
        log,
      });
    },
    async handOver(messages, mayLeave = anyMayLeave) {
      if (messages.length > batchMax) {
        throw new RangeError(`${messages.length} messages in a hand-over of at most ${batchMax}`);
      }
      const deadlineMs = Date.now() + LIMITS.smtpBatchMs;
      const results = Promise.all(
        messages.map((message) =>
          handOne(message, deadlineMs, mayLeave).catch((error: unknown): HandOverResult => {
            log.error({ err: error, id: message.id }, 'A mail failed in an unforeseen way');
            return { kind: 'unknown' };
          }),
        ),
      );
      underWay.add(results);
      try {
        return await results;
      } finally {
        underWay.delete(results);
      }
    },
    close() {
      closing ??= closeAll();
      return closing;
    },
  };

  async function closeAll(): Promise<void> {
    await inbound?.close();
    for (const one of relays) one.drain();
    const giveUp = new AbortController();
    const patience = delay(LIMITS.smtpDrainMs, undefined, { signal: giveUp.signal }).catch(() => undefined);
    await Promise.race([Promise.allSettled(underWay), patience]);
    giveUp.abort();
    for (const one of relays) one.close();
    await Promise.allSettled(underWay);
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
  const { class: kind, code } = classify(reply, stage);
  switch (kind) {
    case 'rejected':
    case 'account':
      return { kind, code, message: reply.text };
    case 'transient':
      return { kind, code, retryAfterMs };
    case 'slow_down':
      if (stage === 'mail') return { kind: 'throttled', retryAfterMs: RELAY_PAUSE_MS };
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
    code: reply?.enhanced ?? code,
    message: reply?.text ?? 'The relay cannot be trusted',
  };
}

function envelopeSender(message: HandOver, returnPath: ReturnPath | undefined): string {
  return returnPath?.addressFor(message.id) ?? splitSender(message.from).address;
}
