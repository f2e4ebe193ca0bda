import { recipientFinding } from '../../domain/delivery-codes';
import type { Receipt } from '../provider';
import { isAboutSender } from '../smtp/smtp-codes';
import type { Callback, CallbackAccount } from '../vendor/vendor';

/**
 * What mail services report about mail that they took by SMTP. Each brings our message's id back in a form of its own,
 * because it keeps the reports of delivery that would otherwise come to the envelope's sender.
 */
export interface MailEvents {
  /** Headers by which its events name our message. */
  headers(messageId: string): [string, string][];
  /** Believes events only with the service's own proof. */
  read(callback: Callback, account: MailAccount, tools: MailEventTools): Promise<MailReading>;
}

export interface MailAccount extends CallbackAccount {
  id: string;
}

export interface MailEventTools {
  now(): number;
  /** The answer's text to a GET of an address that was checked before; rejects for anything but 200. */
  get(url: URL): Promise<string>;
  /** False when the token came before with another body. Mailgun's signature does not cover the body. */
  isFirstUse(accountId: string, token: string, body: Buffer): Promise<boolean>;
}

export type MailReading =
  /** Forged, altered, another account's, or too old. */
  | { kind: 'refused' }
  /** The name or password is wrong. */
  | { kind: 'unauthenticated' }
  | { kind: 'read'; receipts: Receipt[] };

export const REFUSED: MailReading = { kind: 'refused' };

const HOUR_MS = 3_600_000;
/** Whether events of this time are believed: the services sign once and send the same again for hours. */
export const isFresh = (signedMs: number, nowMs: number): boolean =>
  nowMs - signedMs <= 24 * HOUR_MS && signedMs - nowMs <= HOUR_MS / 12;

/** The name under which our id travels. */
export const ID_NAME = 'fanfare';

/** Our id as it came back; `undefined` for mail that is not ours. */
export const messageIdIn = (value: unknown): string | undefined =>
  typeof value === 'string' && /^[\w-]{1,64}$/.test(value) ? value : undefined;

/** A recipient complained, so the mail was delivered. */
export const complaint = (id: string, at: string | undefined): Receipt => ({
  ...{ id, type: 'delivered', code: 'complaint', at },
});

/** The recipient asked the service for no more mail, which then drops what we send. */
export const unsubscribed = (id: string, at: string | undefined): Receipt => ({
  ...{ id, type: 'delivered', code: 'unsubscribed', at },
});

export const delivered = (id: string, at: string | undefined): Receipt => ({ id, type: 'delivered', at });

/**
 * A full mailbox, or what the receiver thinks of the sender, the mail or its policy: services call these permanent too, and
 * they say nothing against the address.
 */
export const sparesAddress = (status: string | undefined, words: string): boolean =>
  /^5\.(2\.2$|7\.)/.test(status ?? '') || isAboutSender(words);

/** A service calls an address invalid for good; its status is kept where it says the same. */
export const hardBounce = (id: string, status: string | undefined, at: string | undefined): Receipt => ({
  ...{ id, type: 'undelivered', at },
  code: recipientFinding('email', status) === 'hard' ? status : 'unknown_recipient',
});

/** Any other end. `fallback` and statuses of hard bounces suppress no address here. */
export const otherBounce = (
  id: string,
  status: string | undefined,
  fallback: string,
  at: string | undefined,
): Receipt => ({
  ...{ id, type: 'undelivered', at },
  code:
    status !== undefined && ENHANCED.test(status) && recipientFinding('email', status) !== 'hard'
      ? status
      : fallback,
});

const ENHANCED = /^[245]\.\d{1,3}\.\d{1,3}$/;

/** Milliseconds or a text as ISO 8601. */
export function timeIn(value: unknown): string | undefined {
  const ms = typeof value === 'number' ? value : typeof value === 'string' ? Date.parse(value) : Number.NaN;
  return Number.isFinite(ms) && Math.abs(ms) < 8e15 ? new Date(ms).toISOString() : undefined;
}

export const objectOf = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {};

export const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');

/** `undefined` for what is no JSON. */
export function jsonIn(body: Buffer | string): unknown {
  try {
    return JSON.parse(body.toString());
  } catch {
    return undefined;
  }
}
