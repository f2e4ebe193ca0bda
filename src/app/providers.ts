import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { UnusableCertificate } from '../certificate';
import type { Config, SmtpConfig } from '../config';
import { defaultAccountId, isVendor, rateOf, type VendorKind } from '../domain/account';
import { CHANNELS, type Channel } from '../domain/channel';
import type { Log } from '../log';
import { createCallDocuments } from '../messaging/call-documents';
import { createTargetGuard } from '../messaging/webhooks/target-guard';
import { openHttpProvider } from '../providers/http-provider';
import { openKannelProvider } from '../providers/kannel-provider';
import type { Provider } from '../providers/provider';
import { openSimulator } from '../providers/simulator/simulator';
import type { InboundParts, SmsParts } from '../providers/smpp/parts';
import { openSmppProvider } from '../providers/smpp/smpp-provider';
import type { DkimKeys, DkimOptions } from '../providers/smtp/dkim';
import { UNSUBSCRIBE } from '../providers/smtp/smtp-inbound';
import { openSmtpProvider } from '../providers/smtp/smtp-provider';
import type { CallDesk } from '../providers/vendor/call-control';
import { MESSAGE_PARAMETER, type VendorAccount } from '../providers/vendor/vendor';
import { VENDORS } from '../providers/vendor/vendors';
import { type Synthesizer, TELEPHONE_HZ } from '../speech/synthesizer';
import { StartupError } from '../startup-error';

export interface ProviderParts {
  /** Secret by which this installation recognises its return paths, in every process and for years. */
  returnPathSecret: string;
  /** Handles the token of an unsubscribe mail. */
  unsubscribe(token: string): Promise<void>;
  /** Stored parts of long SMS for the provider of this name. */
  smsParts(provider: string): SmsParts;
  /** Stored parts of long inbound SMS for the same. */
  inboundParts(provider: string): InboundParts;
  /** Where a carrier reaches `/inbound/{provider}/{secret}`; known once the server listens. */
  inboundUrl(provider: string): string;
  /** The key with which mail of a registered domain is signed. */
  dkimOf?: DkimKeys | undefined;
  /** Where calls at vendors are kept; without it none is made. */
  calls?: CallDesk | undefined;
  /** Where a carrier reaches this installation; known once the server listens. */
  publicUrl(): string;
  /** Without it, the simulator estimates the length of speech from the text. */
  synthesizer: Synthesizer | undefined;
  log: Log;
}

/** The provider of each channel, as configured. */
export async function openProviders(
  config: Config,
  parts: ProviderParts,
): Promise<Record<Channel, Provider>> {
  const providers: Partial<Record<Channel, Provider>> = {};
  for (const channel of CHANNELS) providers[channel] = await openProvider(config, channel, parts);
  return providers as Record<Channel, Provider>;
}

async function openProvider(config: Config, channel: Channel, parts: ProviderParts): Promise<Provider> {
  const { log } = parts;
  const kind = config.providers[channel];
  if (isVendor(kind)) return openVendorDefault(config, kind, channel, parts);
  const http = config.httpProviders[channel];
  if (http) return openHttpProvider({ channel, ...http });
  if (channel === 'email' && config.smtp) return openSmtp(config.smtp, parts);
  if (channel === 'sms' && config.smpp) {
    return openSmppProvider({
      ...config.smpp,
      optedOut: config.smsOptedOut,
      parts: parts.smsParts('smpp'),
      inboundParts: parts.inboundParts('smpp'),
      log,
    });
  }
  if (channel === 'sms' && config.kannelUrl) {
    return openKannelProvider({ url: config.kannelUrl, dlrUrl: () => parts.inboundUrl('kannel') });
  }
  const directory = join(config.dataDir, 'simulator');
  const speechMs = speechLengthOf(parts);
  const documents = callDocumentsOf(config);
  return openSimulator({ channel, directory, ...config.simulator, speechMs, documents, log });
}

function openVendorDefault(
  config: Config,
  kind: VendorKind,
  channel: Channel,
  parts: ProviderParts,
): Provider {
  const id = defaultAccountId(channel);
  const callsPerSecond = rateOf({ kind, ratePerSecond: undefined }, 'voice');
  const callsMax = config.vendors[kind]?.callsMax;
  const account = { id, provider: kind, callsMax, callsPerSecond, ...vendorOfEnvironment(config, kind) };
  return openVendor(kind, account, channel, parts);
}

/** Throws for a channel that cannot be had from this vendor. */
export function openVendor(
  kind: VendorKind,
  account: VendorAccount,
  channel: Channel,
  parts: Pick<ProviderParts, 'publicUrl' | 'calls'>,
): Provider {
  const vendor = VENDORS[kind];
  if (!vendor?.channels.includes(channel)) {
    throw new StartupError(
      `${channel} does not leave by ${kind}`,
      `Choose another provider in FANFARE_${channel.toUpperCase()}_PROVIDER, or other channels for the account.`,
    );
  }
  const { publicUrl, calls } = parts;
  return vendor.open({
    ...{ channel, account, calls },
    addresses: {
      callback: (id) =>
        `${publicUrl()}/inbound/${kind}/${account.id}?${MESSAGE_PARAMETER}=${encodeURIComponent(id)}`,
      document: (path) => `${publicUrl()}/calls/${path}`,
    },
  });
}

/** An account at a vendor as the variables have it. */
export function vendorOfEnvironment(config: Config, kind: VendorKind): Omit<VendorAccount, 'id'> {
  const { settings = {}, secrets = {}, privateKeyFile } = config.vendors[kind] ?? {};
  if (privateKeyFile === undefined) return { settings, secrets };
  try {
    return { settings, secrets: { ...secrets, privateKey: readFileSync(privateKeyFile, 'utf8') } };
  } catch (error) {
    throw new StartupError(
      `The key in FANFARE_VONAGE_PRIVATE_KEY_FILE cannot be read: ${(error as NodeJS.ErrnoException).code}`,
      'Give the path of the private key in PEM that Vonage made for the application.',
      { cause: error },
    );
  }
}

/** How long what a simulated call says takes, where it is spoken. */
export const speechLengthOf = ({ synthesizer }: Pick<ProviderParts, 'synthesizer'>) =>
  synthesizer &&
  (async (...spoken: Parameters<Synthesizer['synthesize']>) =>
    (1_000 * (await synthesizer.synthesize(...spoken)).length) / TELEPHONE_HZ);

/** By which simulated calls fetch what they go on with. */
export const callDocumentsOf = (config: Config) =>
  createCallDocuments(createTargetGuard({ allowPrivate: config.callDocumentsAllowPrivate }));

async function openSmtp(
  { dkim, returnPath, ...config }: SmtpConfig,
  { returnPathSecret: secret, unsubscribe, dkimOf, log }: ProviderParts,
): Promise<Provider> {
  const key = dkim && { ...dkim, privateKey: await readKey(dkim.keyFile) };
  try {
    const provider = openSmtpProvider({
      ...config,
      dkim: key satisfies DkimOptions | undefined,
      dkimOf,
      returnPath: returnPath === undefined ? undefined : { domain: returnPath, secret },
      unsubscribe,
      log,
    });
    return { ...provider, start: (sink) => provider.start(sink).catch(cannotListen) };
  } catch (error) {
    throw wrongKey((error as Error).message, error);
  }
}

/** Address for unsubscribe mails, if there is a listener. */
export function unsubscribeAddress(smtp: SmtpConfig | undefined): string | undefined {
  return smtp?.listen && smtp.returnPath !== undefined ? `${UNSUBSCRIBE}@${smtp.returnPath}` : undefined;
}

function cannotListen(error: unknown): never {
  if (error instanceof UnusableCertificate) {
    throw new StartupError(
      `The certificate for inbound mail cannot be used: ${error.message}`,
      'Correct FANFARE_SMTP_LISTEN_TLS_CERT_FILE and FANFARE_SMTP_LISTEN_TLS_KEY_FILE: a certificate and its private key in PEM that this user may read. Without the two, inbound mail comes unencrypted.',
      { cause: error },
    );
  }
  throw new StartupError(
    `Cannot listen for inbound mail: ${(error as Error).message}`,
    'Stop the program that uses the port, or set FANFARE_SMTP_LISTEN to another.',
    { cause: error },
  );
}

async function readKey(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    throw wrongKey(`it cannot be read: ${(error as NodeJS.ErrnoException).code}`, error);
  }
}

const wrongKey = (reason: string, cause: unknown) =>
  new StartupError(
    `The key in FANFARE_SMTP_DKIM_KEY_FILE cannot be used: ${reason}`,
    'Give the path of a private key in PEM, RSA of 2048 bits or Ed25519, that this user may read.',
    { cause },
  );
