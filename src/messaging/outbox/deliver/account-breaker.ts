import { type AccountState, kindOf } from '../../../domain/account';
import type { Channel } from '../../../domain/channel';
import { LIMITS } from '../../../domain/limits';
import type { Log } from '../../../log';
import type { HandOver, HandOverResult } from '../../../providers/provider';
import type { DeliveryObserver } from '../../model/observer';

/** That a carrier refuses an account, or answers no message of it. It outlives a change of the account, which says nothing of the carrier. */
export interface Refusal {
  code: string;
  sinceMs: number;
  tries: number;
  /** No message leaves before. */
  untilMs: number;
  /** Messages that were refused, as far as it matters how many they were. */
  messages: Set<string>;
  /** When the first of them was offered; only while each of the answers may be about its recipient alone. */
  perhapsRecipientsSinceMs?: number | undefined;
}

type AccountResult = Extract<HandOverResult, { kind: 'account' }>;

interface RefusedWhen {
  startedMs: number;
  nowMs: number;
  takesOthers: boolean;
  mayBeRecipients: boolean;
}

/** The code of a carrier that answers no message: each one is in doubt, so that it is paused like one that refuses us. */
const NO_ANSWER = 'no_answer';
/** So many different messages that were refused are no accident of theirs. */
const MESSAGES_ENOUGH = 3;

/**
 * Stops handing over while a carrier refuses our account, and finds out when it takes messages again. Afterwards
 * single messages are tried, each after a longer wait than the one before: the wait is about half of the time that
 * the carrier has refused for, so that the end of a short outage is noticed soon and a long one costs few requests.
 *
 * An answer that may be about the recipient alone (404, 405) pauses nothing while the carrier takes others. It is believed
 * to be about the recipient when the message gets it a second time and the carrier has taken another one since the first.
 */
export class AccountBreaker {
  private refusal: Refusal | undefined;
  /** Since when the carrier takes messages, as far as this process knows. */
  takesSinceMs = Date.now();
  private lastTakenMs = Number.NEGATIVE_INFINITY;
  /** Answers that may be about the recipient, since a message was taken. */
  private refusedInARow = 0;
  /** When the first of the last messages was given up without an answer, and how many they are. */
  private silence: { sinceMs: number; count: number } | undefined;
  /** When messages that may have no recipient were first offered. */
  private readonly suspects = new Map<string, number>();

  constructor(
    private readonly channel: Channel,
    private readonly kind: string,
    private readonly log: Log,
    private readonly observer?: DeliveryObserver,
    private readonly probeMaxMs: number = LIMITS.accountPauseMaxMs,
    before?: Refusal,
  ) {
    this.refusal = before;
  }

  get pausedUntilMs(): number {
    return this.refusal?.untilMs ?? 0;
  }

  /** Only one message at a time may be with the carrier. */
  get isTrying(): boolean {
    return this.refusal !== undefined;
  }

  /** The carrier refuses the account, and not only single messages among others that it takes. */
  get isRefused(): boolean {
    return (this.refusal?.tries ?? 0) > 0;
  }

  get refused(): Refusal | undefined {
    return this.isRefused ? this.refusal : undefined;
  }

  get state(): AccountState {
    const { channel, refusal } = this;
    const kind = kindOf(this.kind);
    if (!refusal) return { channel, kind, state: 'ok' };
    return {
      channel,
      kind,
      state: 'paused',
      reason: refusal.code,
      since: new Date(refusal.sinceMs).toISOString(),
      nextTryAt: new Date(refusal.untilMs).toISOString(),
    };
  }

  /** The next message is tried at once. */
  probe(): void {
    if (this.refusal) this.refusal.untilMs = Date.now();
  }

  /** Another process tries the account, so that this one waits. */
  follow(untilMs: number): void {
    if (this.refusal) this.refusal.untilMs = Math.max(this.refusal.untilMs, untilMs);
  }

  /** What the results of messages that were offered at `startedMs` mean for each of them. */
  onResults(
    messages: readonly HandOver[],
    results: readonly HandOverResult[],
    startedMs: number,
  ): readonly HandOverResult[] {
    const nowMs = Date.now();
    // Nearly always: the carrier refuses nothing and takes everything.
    if (!this.refusal && results.length > 0 && results.every(({ kind }) => kind === 'accepted')) {
      this.took(nowMs);
      this.silence = undefined;
      return results;
    }
    this.listen(messages, results, { startedMs, nowMs });
    const answersOthers = results.some(({ kind }) => kind === 'accepted' || kind === 'rejected');
    if (results.some(({ kind }) => kind === 'accepted')) this.took(nowMs);
    const isRepeated = messages.some(({ id }) => this.suspects.has(id));
    const classified = results.map((result, i) => this.withoutRecipient(messages[i], result, startedMs));
    const refused = classified.filter((result): result is AccountResult => result.kind === 'account');
    const [first] = refused;
    if (first === undefined) {
      if (answersOthers) this.recover(startedMs, nowMs);
      return classified;
    }
    const ids = messages.filter((_, i) => classified[i]?.kind === 'account').map(({ id }) => id);
    const mayBeRecipients = refused.every(({ orRecipient }) => orRecipient);
    if (mayBeRecipients) this.refusedInARow += refused.length;
    const takesOthers = answersOthers || (mayBeRecipients && this.takesOthers(startedMs, nowMs, isRepeated));
    if (!takesOthers || !mayBeRecipients) {
      this.refuse(first, ids, { startedMs, nowMs, takesOthers, mayBeRecipients });
    } else if (answersOthers) this.recover(startedMs, nowMs);
    // One that alone is refused waits, so that it is not tried again and again before all others.
    const retryAfterMs = takesOthers ? LIMITS.accountAloneMs : this.pausedUntilMs - nowMs;
    return classified.map((result) => (result.kind === 'account' ? { ...result, retryAfterMs } : result));
  }

  /** Messages that were under way together may have met one broken connection, so that a later one must be unanswered too. */
  private listen(
    messages: readonly HandOver[],
    results: readonly HandOverResult[],
    { startedMs, nowMs }: { startedMs: number; nowMs: number },
  ): void {
    if (results.some(isAnswer)) {
      this.silence = undefined;
      if (this.refusal?.code === NO_ANSWER) this.recover(startedMs, nowMs);
      return;
    }
    const ids = messages.filter((_, i) => results[i]?.kind === 'unknown').map(({ id }) => id);
    if (ids.length === 0) return;
    this.silence ??= { sinceMs: nowMs, count: 0 };
    this.silence.count += ids.length;
    const isSilent = this.silence.count >= LIMITS.accountUnanswered && startedMs >= this.silence.sinceMs;
    if (!isSilent && this.refusal?.code !== NO_ANSWER) return;
    const refused: AccountResult = {
      kind: 'account',
      code: NO_ANSWER,
      message: 'The carrier answers no message',
    };
    this.refuse(refused, ids, { startedMs, nowMs, takesOthers: false, mayBeRecipients: false });
  }

  private took(nowMs: number): void {
    this.lastTakenMs = nowMs;
    this.refusedInARow = 0;
  }

  /**
   * Whether the carrier takes others than one that it has just refused: it took one while this one was under way, or, where
   * few are under way at once, shortly before, with fewer than three such answers since. Where messages are answered each
   * by itself, the others of its moment are not in the same results.
   */
  private takesOthers(startedMs: number, nowMs: number, isRepeated: boolean): boolean {
    if (this.lastTakenMs > startedMs) return true;
    const isRecent = nowMs - this.lastTakenMs < LIMITS.accountPauseMs;
    return isRecent && !isRepeated && this.refusedInARow < MESSAGES_ENOUGH;
  }

  private withoutRecipient(
    message: HandOver | undefined,
    result: HandOverResult,
    startedMs: number,
  ): HandOverResult {
    if (message === undefined || result.kind !== 'account' || !result.orRecipient) return result;
    const firstMs = this.suspects.get(message.id);
    if (firstMs !== undefined && this.lastTakenMs >= firstMs) {
      this.suspects.delete(message.id);
      return { kind: 'rejected', code: result.code, message: result.message };
    }
    if (firstMs === undefined) this.suspect(message.id, startedMs);
    return result;
  }

  private suspect(id: string, startedMs: number): void {
    const [oldest] = this.suspects.keys();
    if (this.suspects.size >= LIMITS.accountSuspects && oldest !== undefined) this.suspects.delete(oldest);
    this.suspects.set(id, startedMs);
  }

  private refuse(
    { code }: AccountResult,
    ids: readonly string[],
    { startedMs, nowMs, takesOthers, mayBeRecipients }: RefusedWhen,
  ): void {
    const refusal: Refusal = this.refusal ?? {
      ...{ code, sinceMs: nowMs, tries: 0, untilMs: 0, messages: new Set() },
      perhapsRecipientsSinceMs: startedMs,
    };
    this.refusal = refusal;
    if (!mayBeRecipients) refusal.perhapsRecipientsSinceMs = undefined;
    for (const id of ids) if (refusal.messages.size < MESSAGES_ENOUGH) refusal.messages.add(id);
    if (takesOthers) return;
    // What was taken before this refusal says nothing about the time after it.
    this.lastTakenMs = Number.NEGATIVE_INFINITY;
    // Messages that were under way together count as one refusal, however many they were.
    if (startedMs < refusal.untilMs && refusal.tries > 0) return;
    refusal.untilMs = nowMs + Math.min(waitMs(refusal), this.probeMaxMs);
    refusal.tries += 1;
    refusal.code = code;
    const { channel, kind } = this;
    const nextTryAt = new Date(refusal.untilMs).toISOString();
    if (refusal.tries > 1) {
      this.log.warn(
        { channel, provider: kind, code, nextTryAt },
        code === NO_ANSWER ? 'The carrier still answers no message' : 'The carrier still refuses our account',
      );
      return;
    }
    const what = code === NO_ANSWER ? 'The carrier answers no message' : 'The carrier refuses our account';
    this.log.error(
      { channel, provider: kind, code, nextTryAt },
      `${what}: nothing is handed over until it takes a message again`,
    );
    this.observer?.accountRefused(channel, kind, true);
  }

  /**
   * An answer that was under way when the carrier began to refuse does not say that it takes messages again. Beside answers
   * that may be about recipients it does, if its message was offered with the first of them or later.
   */
  private recover(startedMs: number, nowMs: number): void {
    const { refusal, channel, kind } = this;
    if (!refusal || startedMs < (refusal.perhapsRecipientsSinceMs ?? refusal.sinceMs)) return;
    this.refusal = undefined;
    if (refusal.tries === 0) return;
    this.takesSinceMs = nowMs;
    const seconds = Math.round((nowMs - refusal.sinceMs) / 1_000);
    this.log.info({ channel, provider: kind, seconds }, 'The carrier takes messages again');
    this.observer?.accountRefused(channel, kind, false);
  }
}

const isAnswer = (result: HandOverResult): boolean =>
  result.kind !== 'unknown' &&
  result.kind !== 'stayed' &&
  !(result.kind === 'transient' && result.unreached === true);

/** The next wait. A few messages may themselves be what the carrier refuses, and then others must not wait long. */
function waitMs({ tries, messages }: Refusal): number {
  const longest = messages.size < MESSAGES_ENOUGH ? LIMITS.accountAloneMs : LIMITS.accountPauseMaxMs;
  return Math.min(LIMITS.accountPauseMs * 1.5 ** tries, longest);
}
