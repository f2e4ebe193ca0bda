import { LIMITS } from '../../domain/limits';

/**
 * Receivers that refuse a sender's domain, for its signature, its policy or its name, refuse all of its mail,
 * and no recipient is to blame. After a few such refusals in a row nothing of that domain is offered for a
 * while; then one message tries. A single one is no proof: some hosts say the same of what one recipient
 * does not want.
 */
export interface SenderBreaker {
  /** Whether the domain's mail may be offered; the one that is to try gets that answer. */
  ask(domain: string): { kind: 'open' | 'trial' } | { kind: 'closed'; retryAfterMs: number };
  /** How long its way is closed still; 0 while it is open. */
  closedMs(domain: string): number;
  taken(domain: string): void;
  /** Answers how long to wait if the way is closed by now. */
  refused(domain: string): number | undefined;
}

interface Sender {
  inARow: number;
  /** 0 while it is open. */
  pauseMs: number;
  closedUntilMs: number;
  isTrying: boolean;
}

export function createSenderBreaker({
  onClosed,
  now = Date.now,
}: {
  onClosed(domain: string, pauseMs: number): void;
  now?: (() => number) | undefined;
}): SenderBreaker {
  const senders = new Map<string, Sender>();

  function senderOf(domain: string): Sender {
    const sender = senders.get(domain) ?? { inARow: 0, pauseMs: 0, closedUntilMs: 0, isTrying: false };
    // The last one refused is the last one forgotten.
    senders.delete(domain);
    senders.set(domain, sender);
    for (const oldest of senders.keys()) {
      if (senders.size <= LIMITS.smtpSenders) break;
      senders.delete(oldest);
    }
    return sender;
  }

  return {
    ask(domain) {
      const sender = senders.get(domain);
      if (!sender || sender.pauseMs === 0) return { kind: 'open' };
      const retryAfterMs = sender.closedUntilMs - now();
      if (retryAfterMs > 0) return { kind: 'closed', retryAfterMs };
      sender.isTrying = true;
      sender.closedUntilMs = now() + LIMITS.smtpSenderTrialMs;
      return { kind: 'trial' };
    },
    closedMs: (domain) => Math.max(0, (senders.get(domain)?.closedUntilMs ?? 0) - now()),
    taken(domain) {
      senders.delete(domain);
    },
    refused(domain) {
      const sender = senderOf(domain);
      sender.inARow += 1;
      if (sender.inARow < LIMITS.smtpSenderRefusals) return undefined;
      // Results of messages that were already under way when the sender was paused tell nothing new.
      if (sender.pauseMs === 0 || sender.isTrying) {
        const { smtpSenderPauseFirstMs: first, smtpSenderPauseMaxMs: most } = LIMITS;
        sender.pauseMs = Math.min(sender.pauseMs * 2 || first, most);
        sender.closedUntilMs = now() + sender.pauseMs;
        sender.isTrying = false;
        onClosed(domain, sender.pauseMs);
      }
      return Math.max(1, sender.closedUntilMs - now());
    },
  };
}
