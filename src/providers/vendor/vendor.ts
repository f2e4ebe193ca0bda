import type { VendorKind } from '../../domain/account';
import type { Channel } from '../../domain/channel';
import type { CallOptions } from '../../domain/voice/call-options';
import type { Instruction } from '../../domain/voice/call-script';
import type { InboundSms, Provider, Receipt } from '../provider';
import type { CallDesk, CallFacts, CommandEnd, CommandPlace } from './call-control';

/**
 * A carrier with an API of its own. Each kind is one object: it opens the provider of an account on a channel, reads its
 * callbacks, and asks whether the account is right. All of them are in vendors.ts.
 */
export interface Vendor {
  readonly kind: VendorKind;
  readonly channels: readonly Channel[];
  open(options: VendorOptions): Provider;
  /** Asks the carrier something that changes nothing there. */
  check(account: VendorAccount): Promise<{ ok: boolean; detail: string }>;
  /** What no account with these settings can do of such a message. */
  unable(wish: Wish, settings: VendorAccount['settings']): Inability[];
  /** What is missing or wrong in an account that works, for operators. */
  warnings(account: VendorAccount): readonly string[];
  /** Believes a callback only with the carrier's own signature, of any of the secrets. */
  readCallback(callback: Callback, account: CallbackAccount): CallbackReading;
  /** Calls, for a vendor that makes them by documents. */
  voice?: VendorVoice | undefined;
  /** Calls, for a vendor that makes them by commands. */
  commands?: VendorCommands | undefined;
}

/** Messages that are to be sent, before any of them is. */
export interface Wish {
  channel: Channel;
  from: string;
  /** The text of an SMS or the document of a call, its placeholders empty. */
  body: string;
  voice?: CallOptions | undefined;
}

export interface Inability {
  about: 'account' | 'sender' | 'template';
  message: string;
}

export interface VendorVoice {
  /** A request for a voice document: the carrier need not sign it, but a signature must not be wrong. */
  readRequest(callback: Callback, account: CallbackAccount): DocumentReading;
  /** `next` is where the carrier goes on. */
  write(instructions: readonly Instruction[], next: string): CallbackReply;
  /** Ends a call, or lets it go on elsewhere. */
  steer(account: VendorAccount, providerId: string, to: { hangUp: true } | { url: string }): Promise<void>;
}

/** For a carrier that fetches no documents, so that each step is a command in answer to the end of the one before. */
export interface VendorCommands {
  readonly kind: VendorKind;
  /** One after the other: each begins when the one before has ended. */
  write(instructions: readonly Instruction[]): readonly CallCommands[];
  /** Repeated with the same place, it is carried out once. */
  carryOut(
    account: VendorAccount,
    call: { providerId: string; messageId: string; callback: string },
    commands: CallCommands,
    place: CommandPlace,
  ): Promise<Obedience>;
  /** Ends what is being said, asked or recorded, so that something else can begin; once in a call, however often asked. */
  interrupt(account: VendorAccount, providerId: string): Promise<Obedience>;
  hangUp(account: VendorAccount, providerId: string): Promise<Obedience>;
}

/** Commands that are sent together, and the event by which they have ended. */
export interface CallCommands {
  requests: readonly { action: string; body: Record<string, unknown> }[];
  ends: CommandEnd;
  /** Keys that end the step, for a carrier that only reports keys, and the command that then ends it. */
  stop?: { keys: string; requests: CallCommands['requests'] } | undefined;
}

/** `refused`: it will never be done in this call. `later`: it may have been lost, and can be repeated. */
export type Obedience = 'done' | 'over' | 'refused' | 'later';

export interface VendorAccount {
  id: string;
  /** What its messages are stored with. */
  provider?: string | undefined;
  callsMax?: number | undefined;
  callsPerSecond?: number | undefined;
  /** As contracts/accounts.ts has made them: texts. */
  settings: Readonly<Record<string, string | undefined>>;
  secrets: Readonly<Record<string, string | undefined>>;
}

export interface VendorOptions {
  channel: Channel;
  account: VendorAccount;
  addresses: CallbackAddresses;
  /** Where calls are kept; needed for voice. */
  calls?: CallDesk | undefined;
  answerTimeoutMs?: number | undefined;
}

/** Where a carrier reaches us. */
export interface CallbackAddresses {
  /** With our message's id, which ends a doubt whatever became of the answer to the create. */
  callback(messageId: string): string;
  /** A voice document's. */
  document(path: string): string;
}

/** A request of a carrier, as it came. */
export interface Callback {
  method: string;
  /**
   * What the carrier was given and has signed: the public address, then path and query byte for byte as they came.
   * `new URL` would write some characters in another way.
   */
  url: string;
  query: URLSearchParams;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: Buffer;
}

export interface CallbackAccount {
  settings: VendorAccount['settings'];
  /**
   * The present secrets first; then those before the latest changes, as long as they hold. With them stand the keys that
   * the settings had then.
   */
  secrets: readonly VendorAccount['secrets'][];
}

export type CallbackReading =
  /** Forged, altered, another account's, or too old. */
  | { kind: 'refused' }
  /** The carrier will send it again with a signature. */
  | { kind: 'unsigned' }
  | { kind: 'read'; receipts: Receipt[]; inbound: InboundSms[]; calls: CallFacts[]; reply: CallbackReply };

export interface CallbackReply {
  type: string;
  body: string;
}

export type DocumentReading =
  | { kind: 'refused' }
  /**
   * `isUnread`: the carrier only reports something and reads no answer, so that the call must be continued by
   * another request.
   */
  | { kind: 'read'; facts: CallFacts; isUnread?: boolean | undefined };

/** The parameter of a callback's address that names our message. */
export const MESSAGE_PARAMETER = 'm';

export const header = ({ headers }: Callback, name: string): string | undefined => {
  const value = headers[name];
  return typeof value === 'string' ? value : undefined;
};

/**
 * The path prefix of a vendor's base address, if it has one. Read once, because parsing an address is slow.
 */
export const prefixOf = (base: string): string => new URL(base).pathname.replace(/\/+$/, '');
