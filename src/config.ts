import { z } from 'zod';
import {
  baseUrl,
  countUpTo,
  domain,
  flag,
  hostAndPort,
  httpUrl,
  issuerUrl,
  optedOutCodes,
  port,
  rate,
  secretsKeys,
  smtpRelays,
  tlvs,
  trustedProxies,
  urls,
} from './config-values';
import { VENDOR_KINDS, type VendorKind } from './domain/account';
import { CHANNELS, type Channel } from './domain/channel';
import { LIMITS } from './domain/limits';
import type { OptedOutCodes } from './domain/opted-out-codes';
import { SENDER_MODES, type SenderMode } from './domain/registered-sender';
import type { SenderLimits } from './domain/sender-limit';
import type { SmtpRelayAddress } from './domain/smtp-relays';
import { StartupError } from './startup-error';

/**
 * Every setting, read from the environment once; the file is long because there are many. docs/configuration.md
 * documents each; a test compares the two. A variable that is set but empty counts as not set.
 */
const PROVIDERS = ['simulator', 'http'] as const;
const EMAIL_PROVIDERS = [...PROVIDERS, 'smtp'] as const;
const SMS_PROVIDERS = [...PROVIDERS, 'smpp', 'kannel', ...VENDOR_KINDS] as const;
const VOICE_PROVIDERS = [...PROVIDERS, ...VENDOR_KINDS] as const;
export type ProviderName = (typeof EMAIL_PROVIDERS)[number] | (typeof SMS_PROVIDERS)[number];

export const VARIABLES = z.object({
  FANFARE_DATA_DIR: z.string().default('.fanfare'),
  DATABASE_URL: z
    .url({
      protocol: /^postgres(ql)?$/,
      error:
        'this must be postgres://user:password@host:5432/name; characters such as / and # in a password are written %2F and %23',
    })
    .optional(),
  FANFARE_POSTGRES_BIN: z.string().optional(),
  FANFARE_HTTP_HOST: z.string().default('127.0.0.1'),
  FANFARE_HTTP_PORT: port.default(8080),
  FANFARE_PUBLIC_URL: baseUrl.optional(),
  FANFARE_CONSOLE: z.enum(['on', 'off']).default('on'),
  FANFARE_METRICS_PORT: port.optional(),
  FANFARE_TEMPORAL_METRICS_PORT: port.min(1).optional(),
  FANFARE_TRUST_PROXY: trustedProxies.optional(),
  FANFARE_REQUESTS_PER_SECOND: countUpTo(1_000_000).default(LIMITS.requestsPerSecondDefault),
  FANFARE_REQUESTS_AT_ONCE: countUpTo(100_000).default(LIMITS.requestsAtOnceDefault),
  FANFARE_INSECURE_LINKS: flag,
  FANFARE_AUTH_URL: baseUrl.optional(),
  FANFARE_SEND_URL: baseUrl.optional(),
  FANFARE_APP_URL: baseUrl.optional(),
  FANFARE_CLIENT_ID: z.string().optional(),
  FANFARE_CLIENT_SECRET: z.string().optional(),
  FANFARE_API_KEY: z.string().optional(),
  FANFARE_SESSION_COOKIE: z.string().optional(),
  FANFARE_SERVICE_WORKSPACE: z.string().optional(),
  FANFARE_SERVICE_CREDENTIALS_FILE: z.string().optional(),
  TEMPORAL_ADDRESS: z.string().optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_CLI_PATH: z.string().optional(),
  FANFARE_EMAIL_PROVIDER: z.enum(EMAIL_PROVIDERS).default('simulator'),
  FANFARE_SMS_PROVIDER: z.enum(SMS_PROVIDERS).default('simulator'),
  FANFARE_VOICE_PROVIDER: z.enum(VOICE_PROVIDERS).default('simulator'),
  FANFARE_EMAIL_RATE: rate.optional(),
  FANFARE_SMS_RATE: rate.optional(),
  FANFARE_VOICE_RATE: rate.optional(),
  FANFARE_VOICE_CONCURRENT_CALLS: z.coerce.number().int().min(1).max(100_000).optional(),
  FANFARE_CALL_FAULT_SECONDS: z.coerce.number().positive().max(86_400).optional(),
  FANFARE_CALL_SILENCE_SECONDS: z.coerce
    .number()
    .positive()
    .max(86_400)
    .default(LIMITS.callLeaseSeconds + LIMITS.callGraceSeconds),
  FANFARE_EMAIL_HTTP_URL: httpUrl.optional(),
  FANFARE_EMAIL_HTTP_IDEMPOTENT: flag,
  FANFARE_SMS_HTTP_URL: httpUrl.optional(),
  FANFARE_SMS_HTTP_IDEMPOTENT: flag,
  FANFARE_VOICE_HTTP_URL: httpUrl.optional(),
  FANFARE_VOICE_HTTP_IDEMPOTENT: flag,
  FANFARE_SMTP_URL: smtpRelays.optional(),
  FANFARE_SMTP_CONNECTIONS: z.coerce
    .number()
    .int()
    .min(1)
    .max(LIMITS.smtpConnectionsMax)
    .default(LIMITS.smtpConnectionsDefault),
  FANFARE_SMTP_HELO_NAME: domain.optional(),
  FANFARE_SMTP_DKIM_DOMAIN: domain.optional(),
  FANFARE_SMTP_DKIM_SELECTOR: domain.optional(),
  FANFARE_SMTP_DKIM_KEY_FILE: z.string().optional(),
  FANFARE_SMTP_RETURN_PATH: domain.optional(),
  FANFARE_SMTP_LISTEN: hostAndPort.optional(),
  FANFARE_SMTP_LISTEN_TLS_CERT_FILE: z.string().optional(),
  FANFARE_SMTP_LISTEN_TLS_KEY_FILE: z.string().optional(),
  FANFARE_SMTP_LISTEN_TLS_REQUIRED: flag,
  FANFARE_SMPP_URL: urls(/^smpps?$/).optional(),
  FANFARE_SMPP_BINDS: z.coerce.number().int().min(1).max(50).default(1),
  FANFARE_SMPP_WINDOW: z.coerce.number().int().min(1).max(1_000).default(50),
  FANFARE_SMPP_MESSAGE_ID: z.enum(['auto', 'hex', 'decimal']).default('auto'),
  FANFARE_SMPP_TLVS: tlvs.optional(),
  FANFARE_KANNEL_URL: httpUrl.optional(),
  FANFARE_SMS_OPTED_OUT_CODES: optedOutCodes.optional(),
  FANFARE_TWILIO_ACCOUNT_SID: z.string().optional(),
  FANFARE_TWILIO_AUTH_TOKEN: z.string().optional(),
  FANFARE_TWILIO_API_KEY: z.string().optional(),
  FANFARE_TWILIO_API_SECRET: z.string().optional(),
  FANFARE_TWILIO_MESSAGING_SERVICE_SID: z.string().optional(),
  FANFARE_TWILIO_URL: baseUrl.optional(),
  FANFARE_TELNYX_API_KEY: z.string().optional(),
  FANFARE_TELNYX_PUBLIC_KEY: z.string().optional(),
  FANFARE_TELNYX_CONNECTION_ID: z.string().optional(),
  FANFARE_TELNYX_MESSAGING_PROFILE_ID: z.string().optional(),
  FANFARE_TELNYX_URL: baseUrl.optional(),
  FANFARE_VONAGE_APPLICATION_ID: z.string().optional(),
  FANFARE_VONAGE_PRIVATE_KEY_FILE: z.string().optional(),
  FANFARE_VONAGE_SIGNATURE_SECRET: z.string().optional(),
  FANFARE_VONAGE_URL: baseUrl.optional(),
  /** Unlike other secrets, it is part of a path, so that it has only characters that need no escaping there. */
  FANFARE_INBOUND_SECRET: z
    .string()
    .regex(/^[A-Za-z0-9._~-]{1,200}$/, 'only letters, digits and . _ ~ - may be in it, at most 200')
    .optional(),
  FANFARE_SECRETS_KEY: secretsKeys.optional(),
  FANFARE_WEBHOOK_ALLOW_PRIVATE: flag,
  FANFARE_CALL_DOCUMENTS_ALLOW_PRIVATE: flag,
  FANFARE_UNSUBSCRIBE_MAILTO: z.email().optional(),
  FANFARE_OIDC_ISSUER: issuerUrl.optional(),
  FANFARE_OIDC_CLIENT_ID: z.string().optional(),
  FANFARE_OIDC_CLIENT_SECRET: z.string().optional(),
  FANFARE_REQUIRE_TOTP: z.enum(['none', 'admin']).default('none'),
  FANFARE_RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).optional(),
  FANFARE_AUDIT_RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).optional(),
  FANFARE_SENDERS: z.enum(SENDER_MODES).default('open'),
  FANFARE_SPEECH: z.enum(['none', 'espeak-ng']).default('none'),
  FANFARE_SIMULATOR_SEED: z.coerce.number().int().min(0).default(1),
  FANFARE_SIMULATOR_LATENCY_MS: z.coerce.number().int().min(0).max(60_000).default(20),
  FANFARE_WORKER_BUILD_ID: z
    .string()
    .regex(/^[\w.+-]{1,100}$/, 'use 1 to 100 letters, digits, and . _ + -')
    .optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

type Variables = z.output<typeof VARIABLES>;

export interface Config {
  dataDir: string;
  databaseUrl: string | undefined;
  /** Folder of the managed server's programs. */
  postgresBin: string | undefined;
  http: {
    host: string;
    port: number;
    publicUrl: string | undefined;
    /** Whether the console is served beside the API. */
    console: boolean;
    trustProxy: string[] | number | undefined;
  };
  /** Requests of one workspace to one process. */
  requestBounds: { perSecond: number; atOnce: number };
  /** Why mail of class `marketing` may not leave, if it may not: the links in it would not be https. */
  insecureLinks: string | undefined;
  /** Separate ports for metrics, on the address that HTTP listens on: ours, and the Temporal library's. */
  metrics: { port: number | undefined; temporalPort: number | undefined };
  /** The messaging service that campaigns use; missing parts are those of this process. */
  service: {
    authUrl: string | undefined;
    sendUrl: string | undefined;
    appUrl: string | undefined;
    clientId: string | undefined;
    clientSecret: string | undefined;
    apiKey: string | undefined;
    sessionCookie: string | undefined;
    /** The workspace whose account these variables name. */
    workspace: string | undefined;
    /** File with the accounts of several workspaces. */
    credentialsFile: string | undefined;
  };
  temporal: { address: string | undefined; namespace: string; cliPath: string | undefined };
  /** Name of this build for Temporal's worker versioning, which is off without one. */
  workerBuildId: string | undefined;
  providers: Record<Channel, ProviderName>;
  /** For channels whose provider is `http`. */
  httpProviders: Partial<Record<Channel, { url: string; idempotent: boolean }>>;
  /** For the email provider `smtp`, if it is chosen. */
  smtp: SmtpConfig | undefined;
  /** For SMS, if the provider is `smpp`. */
  smpp:
    | {
        url: string;
        binds: number;
        window: number;
        messageId: 'auto' | 'hex' | 'decimal';
        tlvs: Record<string, string>;
      }
    | undefined;
  /** Address of Kannel's sendsms, if SMS use it. */
  kannelUrl: string | undefined;
  /** Accounts at vendors that channels of the environment use, by kind. */
  vendors: Partial<Record<VendorKind, VendorConfig>>;
  /** The operator's codes for opted-out subscribers, for `smpp` and `kannel`. */
  smsOptedOut: OptedOutCodes | undefined;
  /** How long records of messages are kept; for ever without it. */
  /** The OpenID provider that users may log in at. */
  oidc: { issuer: string; clientId: string; clientSecret: string } | undefined;
  /** One-time codes are demanded of administrators and owners. */
  requireTotp: boolean;
  retentionDays: number | undefined;
  /** The same for the audit log, which no other retention touches. */
  auditRetentionDays: number | undefined;
  /** For every sender without a limit of its own. */
  senderLimits: SenderLimits;
  /** Whether senders that no workspace has registered may be used. */
  senderMode: SenderMode;
  /** For calls of campaigns. */
  callTimes: { faultSeconds: number | undefined; silenceSeconds: number };
  /** Part of the path that carriers report to; without it one is generated and stored. */
  inboundSecret: string | undefined;
  /** Keys for secrets in the database: the first one encrypts, all of them decrypt. */
  secretsKeys: Buffer[];
  /** Webhooks may lead to this machine and to private networks. */
  webhookAllowPrivate: boolean;
  /** The same for documents that calls continue with. */
  callDocumentsAllowPrivate: boolean;
  /** Mail address for unsubscribing, in addition to the link. */
  unsubscribeMailto: string | undefined;
  /** The speech engine. */
  speech: 'none' | 'espeak-ng';
  simulator: { seed: number; latencyMs: number };
  logLevel: string;
}

/** As an account of the API has them; the file of a private key is read when it is needed. */
export interface VendorConfig {
  settings: Record<string, string>;
  secrets: Record<string, string>;
  privateKeyFile?: string | undefined;
}

export interface SmtpConfig {
  relays: SmtpRelayAddress[];
  /** Per relay. */
  connections: number;
  heloName: string | undefined;
  dkim: { domain: string; selector: string; keyFile: string } | undefined;
  /** Domain of the envelope senders. */
  returnPath: string | undefined;
  /** The listener for reports and unsubscribe mails. */
  listen:
    | {
        host: string;
        port: number;
        tls: { certFile: string; keyFile: string; required: boolean } | undefined;
      }
    | undefined;
}

/** Fails with one StartupError that names every wrong variable. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = VARIABLES.superRefine(needUrls, BESIDE)
    .superRefine(needSmtp, BESIDE)
    .superRefine(needOidc, BESIDE)
    .superRefine(needVendors, BESIDE)
    .safeParse(set);
  if (!parsed.success) {
    const findings = parsed.error.issues.map((issue) => `${issue.path.join('.')}: ${issue.message}`);
    throw new StartupError(
      `Wrong configuration: ${findings.join('; ')}`,
      'Correct or unset these variables; docs/configuration.md lists what each may hold.',
    );
  }
  const v = parsed.data;
  return {
    dataDir: v.FANFARE_DATA_DIR,
    databaseUrl: v.DATABASE_URL,
    postgresBin: v.FANFARE_POSTGRES_BIN,
    http: {
      host: v.FANFARE_HTTP_HOST,
      port: v.FANFARE_HTTP_PORT,
      publicUrl: v.FANFARE_PUBLIC_URL,
      console: v.FANFARE_CONSOLE === 'on',
      trustProxy: v.FANFARE_TRUST_PROXY,
    },
    requestBounds: { perSecond: v.FANFARE_REQUESTS_PER_SECOND, atOnce: v.FANFARE_REQUESTS_AT_ONCE },
    insecureLinks: insecureLinksOf(v),
    metrics: { port: v.FANFARE_METRICS_PORT, temporalPort: v.FANFARE_TEMPORAL_METRICS_PORT },
    service: {
      authUrl: v.FANFARE_AUTH_URL,
      sendUrl: v.FANFARE_SEND_URL,
      appUrl: v.FANFARE_APP_URL,
      clientId: v.FANFARE_CLIENT_ID,
      clientSecret: v.FANFARE_CLIENT_SECRET,
      apiKey: v.FANFARE_API_KEY,
      sessionCookie: v.FANFARE_SESSION_COOKIE,
      workspace: v.FANFARE_SERVICE_WORKSPACE,
      credentialsFile: v.FANFARE_SERVICE_CREDENTIALS_FILE,
    },
    temporal: {
      address: v.TEMPORAL_ADDRESS,
      namespace: v.TEMPORAL_NAMESPACE,
      cliPath: v.TEMPORAL_CLI_PATH,
    },
    providers: Object.fromEntries(
      CHANNELS.map((channel) => [channel, v[namesOf(channel).provider]]),
    ) as Record<Channel, ProviderName>,
    httpProviders: Object.fromEntries(
      CHANNELS.flatMap((channel) => {
        const { provider, url, idempotent } = namesOf(channel);
        return v[provider] === 'http' ? [[channel, { url: v[url], idempotent: v[idempotent] }]] : [];
      }),
    ),
    smtp: smtpOf(v),
    smpp:
      v.FANFARE_SMS_PROVIDER === 'smpp' && v.FANFARE_SMPP_URL
        ? {
            url: v.FANFARE_SMPP_URL,
            binds: v.FANFARE_SMPP_BINDS,
            window: v.FANFARE_SMPP_WINDOW,
            messageId: v.FANFARE_SMPP_MESSAGE_ID,
            tlvs: v.FANFARE_SMPP_TLVS ?? {},
          }
        : undefined,
    kannelUrl: v.FANFARE_SMS_PROVIDER === 'kannel' ? v.FANFARE_KANNEL_URL : undefined,
    vendors: vendorsOf(v),
    smsOptedOut: v.FANFARE_SMS_OPTED_OUT_CODES,
    oidc: oidcOf(v),
    requireTotp: v.FANFARE_REQUIRE_TOTP === 'admin',
    retentionDays: v.FANFARE_RETENTION_DAYS,
    auditRetentionDays: v.FANFARE_AUDIT_RETENTION_DAYS,
    senderLimits: {
      email: { rate: v.FANFARE_EMAIL_RATE },
      sms: { rate: v.FANFARE_SMS_RATE },
      voice: { rate: v.FANFARE_VOICE_RATE, concurrentCalls: v.FANFARE_VOICE_CONCURRENT_CALLS },
    },
    senderMode: v.FANFARE_SENDERS,
    callTimes: {
      faultSeconds: v.FANFARE_CALL_FAULT_SECONDS ?? faultSecondsWith(v.FANFARE_VOICE_PROVIDER),
      silenceSeconds: v.FANFARE_CALL_SILENCE_SECONDS,
    },
    inboundSecret: v.FANFARE_INBOUND_SECRET,
    secretsKeys: v.FANFARE_SECRETS_KEY ?? [],
    webhookAllowPrivate: v.FANFARE_WEBHOOK_ALLOW_PRIVATE,
    callDocumentsAllowPrivate: v.FANFARE_CALL_DOCUMENTS_ALLOW_PRIVATE,
    unsubscribeMailto: v.FANFARE_UNSUBSCRIBE_MAILTO,
    speech: v.FANFARE_SPEECH,
    simulator: { seed: v.FANFARE_SIMULATOR_SEED, latencyMs: v.FANFARE_SIMULATOR_LATENCY_MS },
    workerBuildId: v.FANFARE_WORKER_BUILD_ID,
    logLevel: v.LOG_LEVEL,
  };
}

/** A link without https can be read and changed on the way, and one to this machine leads nowhere. */
function insecureLinksOf(v: Variables): string | undefined {
  if (v.FANFARE_EMAIL_PROVIDER !== 'smtp' || v.FANFARE_INSECURE_LINKS) return undefined;
  if (v.FANFARE_PUBLIC_URL?.startsWith('https:')) return undefined;
  return 'links in marketing mail need FANFARE_PUBLIC_URL with https; FANFARE_INSECURE_LINKS=true sends without';
}

/** Related variables are checked even when single values are wrong, so that all problems are reported at once. */
const BESIDE = { when: () => true };

/** With the simulator, whose calls take milliseconds, a wait of minutes would be too long. */
const faultSecondsWith = (provider: ProviderName) => (provider === 'simulator' ? 2 : undefined);

function needUrls(v: Variables, context: z.core.$RefinementCtx): void {
  const sms = v.FANFARE_SMS_PROVIDER;
  if ((sms === 'smpp' || sms === 'kannel') && !v[SMS_URL[sms]]) {
    const message = `needed because FANFARE_SMS_PROVIDER is ${sms}`;
    context.addIssue({ code: 'custom', path: [SMS_URL[sms]], message });
  }
  for (const channel of CHANNELS) {
    const { provider, url } = namesOf(channel);
    if (v[provider] === 'http' && !v[url]) {
      context.addIssue({ code: 'custom', path: [url], message: `needed because ${provider} is http` });
    }
  }
}

function needSmtp(v: Variables, context: z.core.$RefinementCtx): void {
  if (v.FANFARE_EMAIL_PROVIDER !== 'smtp') return;
  const need = (path: keyof Variables, why: string) => {
    if (v[path] === undefined)
      context.addIssue({ code: 'custom', path: [path], message: `needed because ${why}` });
  };
  need('FANFARE_SMTP_URL', 'FANFARE_EMAIL_PROVIDER is smtp');
  if (v.FANFARE_SMTP_LISTEN) need('FANFARE_SMTP_RETURN_PATH', 'FANFARE_SMTP_LISTEN is set');
  const [certFile, keyFile] = [
    'FANFARE_SMTP_LISTEN_TLS_CERT_FILE',
    'FANFARE_SMTP_LISTEN_TLS_KEY_FILE',
  ] as const;
  // A value that is neither true nor false is kept as text here, and requires nothing.
  if (v.FANFARE_SMTP_LISTEN_TLS_REQUIRED === true) need(certFile, 'FANFARE_SMTP_LISTEN_TLS_REQUIRED is true');
  const tls = [certFile, keyFile].find((path) => v[path] !== undefined);
  if (tls)
    for (const path of ['FANFARE_SMTP_LISTEN', certFile, keyFile] as const) need(path, `${tls} is set`);
  const dkim = [
    'FANFARE_SMTP_DKIM_DOMAIN',
    'FANFARE_SMTP_DKIM_SELECTOR',
    'FANFARE_SMTP_DKIM_KEY_FILE',
  ] as const;
  const set = dkim.find((path) => v[path] !== undefined);
  if (set) for (const path of dkim) need(path, `${set} is set`);
}

const OIDC = ['FANFARE_OIDC_ISSUER', 'FANFARE_OIDC_CLIENT_ID', 'FANFARE_OIDC_CLIENT_SECRET'] as const;

function needOidc(v: Variables, context: z.core.$RefinementCtx): void {
  const set = OIDC.find((path) => v[path] !== undefined);
  for (const path of set ? OIDC : []) {
    if (v[path] === undefined)
      context.addIssue({ code: 'custom', path: [path], message: `needed because ${set} is set` });
  }
}

function oidcOf(v: Variables): Config['oidc'] {
  const [issuer, clientId, clientSecret] = OIDC.map((path) => v[path]);
  return issuer && clientId && clientSecret ? { issuer, clientId, clientSecret } : undefined;
}

function smtpOf(v: Variables): SmtpConfig | undefined {
  if (v.FANFARE_EMAIL_PROVIDER !== 'smtp' || !v.FANFARE_SMTP_URL) return undefined;
  const { FANFARE_SMTP_DKIM_DOMAIN: domain, FANFARE_SMTP_DKIM_SELECTOR: selector } = v;
  const { FANFARE_SMTP_DKIM_KEY_FILE: keyFile, FANFARE_SMTP_LISTEN: listen } = v;
  return {
    relays: v.FANFARE_SMTP_URL,
    connections: v.FANFARE_SMTP_CONNECTIONS,
    heloName: v.FANFARE_SMTP_HELO_NAME,
    dkim: domain && selector && keyFile ? { domain, selector, keyFile } : undefined,
    returnPath: v.FANFARE_SMTP_RETURN_PATH,
    listen: listen && { ...listen, tls: listenerTls(v) },
  };
}

function listenerTls(v: Variables) {
  const { FANFARE_SMTP_LISTEN_TLS_CERT_FILE: certFile, FANFARE_SMTP_LISTEN_TLS_KEY_FILE: keyFile } = v;
  return certFile && keyFile
    ? { certFile, keyFile, required: v.FANFARE_SMTP_LISTEN_TLS_REQUIRED }
    : undefined;
}

/** Each vendor's variables by the member of settings or secrets that they are (api.md 13 and 15). */
const VENDOR_VARIABLES = {
  twilio: {
    settings: {
      accountSid: 'FANFARE_TWILIO_ACCOUNT_SID',
      apiKey: 'FANFARE_TWILIO_API_KEY',
      messagingServiceSid: 'FANFARE_TWILIO_MESSAGING_SERVICE_SID',
      url: 'FANFARE_TWILIO_URL',
    },
    secrets: { authToken: 'FANFARE_TWILIO_AUTH_TOKEN', apiSecret: 'FANFARE_TWILIO_API_SECRET' },
    needed: ['FANFARE_TWILIO_ACCOUNT_SID'],
  },
  telnyx: {
    settings: {
      publicKey: 'FANFARE_TELNYX_PUBLIC_KEY',
      connectionId: 'FANFARE_TELNYX_CONNECTION_ID',
      messagingProfileId: 'FANFARE_TELNYX_MESSAGING_PROFILE_ID',
      url: 'FANFARE_TELNYX_URL',
    },
    secrets: { apiKey: 'FANFARE_TELNYX_API_KEY' },
    needed: ['FANFARE_TELNYX_API_KEY', 'FANFARE_TELNYX_PUBLIC_KEY'],
  },
  vonage: {
    settings: { applicationId: 'FANFARE_VONAGE_APPLICATION_ID', url: 'FANFARE_VONAGE_URL' },
    secrets: { signatureSecret: 'FANFARE_VONAGE_SIGNATURE_SECRET' },
    needed: [
      'FANFARE_VONAGE_APPLICATION_ID',
      'FANFARE_VONAGE_PRIVATE_KEY_FILE',
      'FANFARE_VONAGE_SIGNATURE_SECRET',
    ],
  },
} as const satisfies Record<
  VendorKind,
  Record<'settings' | 'secrets', Record<string, keyof Variables>> & { needed: readonly (keyof Variables)[] }
>;

const usesVendor = (v: Variables, kind: VendorKind): boolean =>
  v.FANFARE_SMS_PROVIDER === kind || v.FANFARE_VOICE_PROVIDER === kind;

function needVendors(v: Variables, context: z.core.$RefinementCtx): void {
  for (const kind of VENDOR_KINDS.filter((one) => usesVendor(v, one))) {
    const need = (path: keyof Variables, why: string) => {
      if (v[path] === undefined)
        context.addIssue({ code: 'custom', path: [path], message: `needed because ${why}` });
    };
    for (const path of VENDOR_VARIABLES[kind].needed) need(path, `a provider is ${kind}`);
    if (kind === 'telnyx' && v.FANFARE_VOICE_PROVIDER === kind)
      need('FANFARE_TELNYX_CONNECTION_ID', 'FANFARE_VOICE_PROVIDER is telnyx');
    if (kind !== 'twilio') continue;
    if (v.FANFARE_TWILIO_API_KEY) need('FANFARE_TWILIO_API_SECRET', 'FANFARE_TWILIO_API_KEY is set');
    else need('FANFARE_TWILIO_AUTH_TOKEN', 'a provider is twilio and FANFARE_TWILIO_API_KEY is not set');
  }
}

function vendorsOf(v: Variables): Config['vendors'] {
  const read = (names: Record<string, keyof Variables>) =>
    Object.fromEntries(
      Object.entries(names).flatMap(([member, name]) => {
        const value = v[name];
        return typeof value === 'string' ? [[member, value]] : [];
      }),
    );
  return Object.fromEntries(
    VENDOR_KINDS.filter((kind) => usesVendor(v, kind)).map((kind) => {
      const { settings, secrets } = VENDOR_VARIABLES[kind];
      const privateKeyFile = kind === 'vonage' ? v.FANFARE_VONAGE_PRIVATE_KEY_FILE : undefined;
      return [kind, { settings: read(settings), secrets: read(secrets), privateKeyFile }];
    }),
  );
}

/** The variable that a provider for SMS needs. */
const SMS_URL = { smpp: 'FANFARE_SMPP_URL', kannel: 'FANFARE_KANNEL_URL' } as const;

/** A channel's variables. */
function namesOf(channel: Channel) {
  const prefix = `FANFARE_${channel.toUpperCase() as Uppercase<Channel>}` as const;
  return {
    provider: `${prefix}_PROVIDER`,
    url: `${prefix}_HTTP_URL`,
    idempotent: `${prefix}_HTTP_IDEMPOTENT`,
  } as const;
}
