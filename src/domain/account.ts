import type { Channel } from './channel';
import { LIMITS } from './limits';

/** Carriers with an API of their own, who call us back at an address for each account, with a signature. */
export const VENDOR_KINDS = ['twilio', 'telnyx', 'vonage'] as const;
export type VendorKind = (typeof VENDOR_KINDS)[number];

export const ACCOUNT_KINDS = ['http', 'smtp', 'smpp', 'kannel', 'simulator', ...VENDOR_KINDS] as const;
export type AccountKind = (typeof ACCOUNT_KINDS)[number];

/** Services that take mail by SMTP and report by HTTP what became of it. */
export const MAIL_VENDORS = ['ses', 'sendgrid', 'mailgun', 'postmark'] as const;
export type MailVendor = (typeof MAIL_VENDORS)[number];

export const isMailVendor = (kind: string): kind is MailVendor =>
  (MAIL_VENDORS as readonly string[]).includes(kind);

/** An account at a carrier: by the API or, one for each channel, by the environment (api.md 15). */
export interface Account {
  id: string;
  name: string;
  kind: AccountKind;
  channels: readonly Channel[];
  settings: Record<string, unknown>;
  /** The secrets that are set; their values are in no answer. */
  secretNames: readonly string[];
  /** `*` for all. */
  workspaces: readonly string[];
  ratePerSecond: number | undefined;
  /** Calls at once, in all processes together; for carriers that report when a call is over. */
  maxConcurrentCalls?: number | undefined;
  disabled: boolean;
  source: 'api' | 'environment';
}

/** Where an owner says nothing, a vendor gets as many calls a second as it takes without queueing or refusing them. */
const CALLS_PER_SECOND: Partial<Record<AccountKind, number>> = {
  twilio: LIMITS.vendorCallsPerSecond,
  telnyx: LIMITS.telnyxCallsPerSecond,
  vonage: LIMITS.vonageCallsPerSecond,
};

/** How many messages of a channel may leave by the account in a second; `undefined` for no bound. */
export const rateOf = (
  { kind, ratePerSecond }: Pick<Account, 'kind' | 'ratePerSecond'>,
  channel: Channel,
): number | undefined => ratePerSecond ?? (channel === 'voice' ? CALLS_PER_SECOND[kind] : undefined);

/** The account that the environment makes for a channel. */
export const defaultAccountId = (channel: Channel): string => `default-${channel}`;

export const isOpenTo = (account: Pick<Account, 'workspaces'>, workspaceId: string): boolean =>
  account.workspaces.includes('*') || account.workspaces.includes(workspaceId);

/**
 * What a provider is called in messages, events and metrics. The environment's have the name of their kind, as they had
 * before there were others; an id of a carrier means something at one account only.
 */
export const providerName = ({ id, kind, source }: Pick<Account, 'id' | 'kind' | 'source'>): string =>
  source === 'environment' ? kind : `${kind}:${id}`;

/** The id of the account that carried a message of the channel, by its provider's name. */
export const accountIdOf = (provider: string, channel: Channel): string =>
  provider.split(':', 2)[1] ?? defaultAccountId(channel);

/** The kind of the account that is called so. */
export const kindOf = (provider: string): string => provider.split(':', 1)[0] ?? provider;

export const isVendor = (kind: string): kind is VendorKind =>
  (VENDOR_KINDS as readonly string[]).includes(kind);

/**
 * Whether what came for one provider may be about a message of another: callbacks of some kinds name no account. Those of
 * vendors do, and one account's signature says nothing about another's messages.
 */
export const isOfKind = (provider: string, kind: string): boolean =>
  provider === kind || (!isVendor(kind) && provider.startsWith(`${kind}:`));

/** How a provider's account stands, for operators (`/readyz`, `fanfare doctor`). Times are ISO 8601. */
export interface AccountState {
  channel: Channel;
  /** The provider's. */
  kind: string;
  /** Which account it is, where there may be several. */
  account?: string;
  state: 'ok' | 'paused' | 'throttled';
  /** The carrier's code, and since when it refuses. */
  reason?: string;
  since?: string;
  nextTryAt?: string;
}
