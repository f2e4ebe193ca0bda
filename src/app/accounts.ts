import { join } from 'node:path';
import type { Config } from '../config';
import {
  type Account,
  defaultAccountId,
  isVendor,
  type MailVendor,
  providerName,
  rateOf,
} from '../domain/account';
import { CHANNELS, type Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import { parseOptedOutCodes } from '../domain/opted-out-codes';
import { parseSmtpRelays } from '../domain/smtp-relays';
import { openHttpProvider } from '../providers/http-provider';
import { openKannelProvider } from '../providers/kannel-provider';
import { MAIL_SERVICES } from '../providers/mail-events/mail-services';
import type { Provider } from '../providers/provider';
import { type Place, placeOf, reach } from '../providers/reach';
import { openSimulator } from '../providers/simulator/simulator';
import { openSmppProvider } from '../providers/smpp/smpp-provider';
import { openSmtpProvider } from '../providers/smtp/smtp-provider';
import type { Inability, VendorAccount, Wish } from '../providers/vendor/vendor';
import { VENDORS } from '../providers/vendor/vendors';
import {
  callDocumentsOf,
  openVendor,
  type ProviderParts,
  speechLengthOf,
  vendorOfEnvironment,
} from './providers';

/** The accounts that the environment makes, as the API shows them. */
export function environmentAccounts(config: Config): Account[] {
  return CHANNELS.map((channel) => ({
    id: defaultAccountId(channel),
    name: `Default account for ${channel}`,
    channels: [channel],
    ...settingsOf(config, channel),
    ...{ workspaces: ['*'], ratePerSecond: undefined, disabled: false, source: 'environment' as const },
  }));
}

function settingsOf(
  config: Config,
  channel: Channel,
): Pick<Account, 'kind' | 'settings' | 'maxConcurrentCalls'> & { secretNames: string[] } {
  const vendor = config.providers[channel];
  if (isVendor(vendor)) {
    const { settings = {}, secrets = {}, privateKeyFile, callsMax } = config.vendors[vendor] ?? {};
    const names = [...Object.keys(secrets), ...(privateKeyFile === undefined ? [] : ['privateKey'])];
    const calls = channel === 'voice' && callsMax !== undefined ? { maxConcurrentCalls: callsMax } : {};
    return { kind: vendor, settings, secretNames: names.sort(), ...calls };
  }
  const http = config.httpProviders[channel];
  if (http) {
    const { origin, pathname, search, username } = new URL(http.url);
    const settings = { url: `${origin}${pathname}${search}`, idempotent: http.idempotent };
    return { kind: 'http', settings, secretNames: username === '' ? [] : ['headers'] };
  }
  if (channel === 'email' && config.smtp) {
    const { connections, heloName } = config.smtp;
    return { kind: 'smtp', settings: defined({ connections, heloName }), secretNames: ['url'] };
  }
  if (channel === 'sms' && config.smpp) {
    const { binds, window, messageId } = config.smpp;
    return { kind: 'smpp', settings: { binds, window, messageId }, secretNames: ['url'] };
  }
  if (channel === 'sms' && config.kannelUrl) return { kind: 'kannel', settings: {}, secretNames: ['url'] };
  return { kind: 'simulator', settings: { ...config.simulator }, secretNames: [] };
}

const defined = (values: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined));

/** A provider for each channel of an account; what it holds was checked by contracts/accounts.ts when it was set. */
export async function openAccount(
  config: Config,
  parts: ProviderParts,
  account: Account,
  secrets: Record<string, unknown>,
): Promise<Provider[]> {
  const opened: Provider[] = [];
  const able = isVendor(account.kind) ? (VENDORS[account.kind]?.channels ?? []) : CHANNELS;
  for (const channel of account.channels.filter((one) => able.includes(one))) {
    // Messages of this channel wait, because the account has no way for them; campaigns are refused (carriers/routes.ts).
    const wish = { channel, from: '', body: '' };
    if (inabilitiesOf(account, wish).some(({ about }) => about === 'account')) continue;
    const provider = await openOn(config, parts, { ...account, secrets }, channel);
    opened.push(called(providerName(account), provider));
  }
  return opened;
}

async function openOn(
  config: Config,
  parts: ProviderParts,
  account: Account & { secrets: Record<string, unknown> },
  channel: Channel,
): Promise<Provider> {
  const { id, kind } = account;
  // As the contract for this kind has made them.
  const settings = account.settings as Settings;
  const secrets = account.secrets as Secrets;
  const { url = '' } = secrets;
  const { log } = parts;
  if (isVendor(kind)) {
    const opened = {
      ...vendorAccount(account, account.secrets),
      ...{ provider: providerName(account), callsMax: account.maxConcurrentCalls },
      callsPerSecond: rateOf(account, 'voice'),
    };
    return openVendor(kind, opened, channel, parts);
  }
  switch (kind) {
    case 'http':
      return openHttpProvider({
        ...{ channel, url: settings.url ?? '', idempotent: settings.idempotent ?? false },
        headers: secrets.headers,
      });
    case 'smtp': {
      const relays = parseSmtpRelays(url);
      if (typeof relays === 'string') throw new Error(relays);
      const { connections, heloName } = settings;
      const domain = config.smtp?.returnPath;
      const returnPath = domain === undefined ? undefined : { domain, secret: parts.returnPathSecret };
      return openSmtpProvider({
        ...{ relays, connections, heloName, returnPath, dkimOf: parts.dkimOf, log },
        eventHeaders: settings.events && MAIL_SERVICES[settings.events].headers,
      });
    }
    case 'smpp': {
      const { binds = 1, window = 50, messageId = 'auto' } = settings;
      const codes =
        settings.optedOutCodes === undefined ? undefined : parseOptedOutCodes(settings.optedOutCodes);
      const tlvs = settings.tlvs === undefined ? {} : (JSON.parse(settings.tlvs) as Record<string, string>);
      return openSmppProvider({
        ...{ url, binds, window, messageId, tlvs, log },
        optedOut: typeof codes === 'string' ? undefined : codes,
        parts: parts.smsParts(providerName(account)),
        inboundParts: parts.inboundParts(providerName(account)),
      });
    }
    case 'kannel':
      return openKannelProvider({ url, dlrUrl: () => parts.inboundUrl('kannel') });
    case 'simulator':
      return openSimulator({
        ...{ channel, log, directory: join(config.dataDir, 'simulator', id) },
        ...{ ...config.simulator, ...settings },
        ...{ speechMs: speechLengthOf(parts), documents: callDocumentsOf(config) },
      });
  }
}

/** All settings of vendors are texts, because contracts/accounts.ts accepts nothing else. */
const vendorAccount = (
  { id, settings }: Pick<Account, 'id' | 'settings'>,
  secrets: Record<string, unknown>,
): VendorAccount => ({
  id,
  settings: settings as VendorAccount['settings'],
  secrets: secrets as VendorAccount['secrets'],
});

/** Settings that some kind of account has; the contract says which kind has which. */
interface Settings {
  url?: string;
  idempotent?: boolean;
  connections?: number;
  heloName?: string;
  events?: MailVendor;
  binds?: number;
  window?: number;
  messageId?: 'auto' | 'hex' | 'decimal';
  tlvs?: string;
  optedOutCodes?: string;
  seed?: number;
  latencyMs?: number;
}

interface Secrets {
  url?: string;
  headers?: Record<string, string>;
}

const NOTHING = Promise.resolve({ kind: 'failed' as const });

/** The same provider under the name of its account. */
const called = (name: string, provider: Provider): Provider => ({
  name,
  channel: provider.channel,
  capabilities: provider.capabilities,
  start: (sink, inbound) => provider.start(sink, inbound),
  handOver: (messages, mayLeave) => provider.handOver(messages, mayLeave),
  ...(provider.lookUp ? { lookUp: (message) => provider.lookUp?.(message) ?? NOTHING } : {}),
  ...(provider.withdraw ? { withdraw: async (id) => provider.withdraw?.(id) } : {}),
  close: () => provider.close(),
});

/** What the account's carrier cannot do of such a message. */
export const inabilitiesOf = ({ kind, settings }: Account, wish: Wish): Inability[] =>
  isVendor(kind) ? (VENDORS[kind]?.unable(wish, settings as VendorAccount['settings']) ?? []) : [];

/**
 * Opens a connection to where the account's messages would go, and sends nothing. A vendor is asked about the
 * account.
 */
export async function checkAccount(
  { id, kind, settings }: Pick<Account, 'id' | 'kind' | 'settings'>,
  secrets: Record<string, unknown>,
): Promise<{ ok: boolean; detail: string }> {
  if (isVendor(kind)) {
    const vendor = VENDORS[kind];
    return vendor
      ? vendor.check(vendorAccount({ id, settings }, secrets))
      : { ok: false, detail: `Nothing leaves by ${kind}` };
  }
  if (kind === 'simulator') return { ok: true, detail: 'Nothing leaves this machine' };
  const places = placesOf(kind, String(kind === 'http' ? settings.url : secrets.url));
  const problems = await Promise.all(places.map((place) => reach(place, LIMITS.accountCheckMs)));
  const told = places.map(({ host, port }, i) => `${host}:${port}: ${problems[i] ?? 'connected'}`);
  const reached = problems.filter((problem) => problem === undefined).length;
  return { ok: reached > 0, detail: told.join('; ') };
}

function placesOf(kind: Account['kind'], url: string): Place[] {
  if (kind !== 'smtp') return url.split(',').map((one) => placeOf(one.trim()));
  const relays = parseSmtpRelays(url);
  return typeof relays === 'string'
    ? []
    : relays.map(({ host, port, secure }) => ({ host, port, tls: secure }));
}

/** The secrets of an account of the environment, as far as `checkAccount` needs them. */
export function environmentSecrets(config: Config, account: Account): Record<string, unknown> {
  if (isVendor(account.kind)) return vendorOfEnvironment(config, account.kind).secrets;
  if (account.kind === 'smpp') return { url: config.smpp?.url };
  if (account.kind === 'kannel') return { url: config.kannelUrl };
  if (account.kind !== 'smtp' || !config.smtp) return {};
  const urls = config.smtp.relays.map(({ host, port, secure }) => {
    const name = host.includes(':') ? `[${host}]` : host;
    return `${secure ? 'smtps' : 'smtp'}://${name}:${port}`;
  });
  return { url: urls.join(',') };
}
