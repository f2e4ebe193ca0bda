import { isIP } from 'node:net';
import { z } from 'zod';
import { CHANNELS, type Channel } from './domain/channel';
import type { SenderLimits } from './domain/sender-limit';
import { StartupError } from './startup-error';

/**
 * Every setting, read from the environment once. docs/configuration.md documents each; a test compares
 * the two. A variable that is set but empty counts as not set.
 */
const PROVIDERS = ['simulator', 'http'] as const;
const SMS_PROVIDERS = [...PROVIDERS, 'smpp', 'kannel'] as const;
export type ProviderName = (typeof SMS_PROVIDERS)[number];

const port = z.coerce.number().int().min(0).max(65_535);
const httpUrl = z.url({ protocol: /^https?$/ });
const baseUrl = httpUrl.transform((value) => value.replace(/\/+$/, ''));
const rate = z.coerce.number().positive().max(100_000);
const flag = z
  .enum(['true', 'false'])
  .default('false')
  .transform((value) => value === 'true');

/** The value itself, which has a password in it, is not repeated in what is said of it. */
const urls = (protocol: RegExp) =>
  z
    .string()
    .refine(
      (value) => value.split(',').every((one) => z.url({ protocol }).safeParse(one.trim()).success),
      `this must be a URL with ${protocol.source.replace(/[\^$?()]/g, '')}://, or several with commas between them`,
    );

/** Tags are numbers such as 0x1400. */
const tlvs = z.string().transform((value, context) => {
  const known = z.record(z.string().regex(/^(0x[\da-fA-F]{1,4}|\d{1,5})$/), z.string().max(250));
  try {
    return known.parse(JSON.parse(value));
  } catch {
    context.addIssue({ code: 'custom', message: 'this must be JSON such as {"0x1400": "1101234567890"}' });
    return z.NEVER;
  }
});

/**
 * A number of proxies, or their addresses. A host name is not among them: it would be looked up once, and
 * what it says later would be somebody else.
 */
const trustedProxies = z.string().transform((value, context) => {
  if (/^[1-9]$/.test(value)) return Number(value);
  const addresses = value.split(',').map((one) => one.trim());
  const wrong = addresses.filter((one) => !isNetwork(one));
  if (wrong.length === 0) return addresses;
  const message =
    'this is neither a number from 1 to 9 nor a list of addresses or networks such as 10.0.0.0/8';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
});

export const VARIABLES = z.object({
  FANFARE_DATA_DIR: z.string().default('.fanfare'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  FANFARE_HTTP_HOST: z.string().default('127.0.0.1'),
  FANFARE_HTTP_PORT: port.default(8080),
  FANFARE_PUBLIC_URL: baseUrl.optional(),
  FANFARE_TRUST_PROXY: trustedProxies.optional(),
  FANFARE_AUTH_URL: baseUrl.optional(),
  FANFARE_SEND_URL: baseUrl.optional(),
  FANFARE_APP_URL: baseUrl.optional(),
  FANFARE_CLIENT_ID: z.string().optional(),
  FANFARE_CLIENT_SECRET: z.string().optional(),
  FANFARE_API_KEY: z.string().optional(),
  FANFARE_SESSION_COOKIE: z.string().optional(),
  TEMPORAL_ADDRESS: z.string().optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_CLI_PATH: z.string().optional(),
  FANFARE_EMAIL_PROVIDER: z.enum(PROVIDERS).default('simulator'),
  FANFARE_SMS_PROVIDER: z.enum(SMS_PROVIDERS).default('simulator'),
  FANFARE_VOICE_PROVIDER: z.enum(PROVIDERS).default('simulator'),
  FANFARE_EMAIL_RATE: rate.optional(),
  FANFARE_SMS_RATE: rate.optional(),
  FANFARE_VOICE_RATE: rate.optional(),
  FANFARE_VOICE_CONCURRENT_CALLS: z.coerce.number().int().min(1).max(100_000).optional(),
  FANFARE_EMAIL_HTTP_URL: httpUrl.optional(),
  FANFARE_EMAIL_HTTP_IDEMPOTENT: flag,
  FANFARE_SMS_HTTP_URL: httpUrl.optional(),
  FANFARE_SMS_HTTP_IDEMPOTENT: flag,
  FANFARE_VOICE_HTTP_URL: httpUrl.optional(),
  FANFARE_VOICE_HTTP_IDEMPOTENT: flag,
  FANFARE_SMPP_URL: urls(/^smpps?$/).optional(),
  FANFARE_SMPP_BINDS: z.coerce.number().int().min(1).max(50).default(1),
  FANFARE_SMPP_WINDOW: z.coerce.number().int().min(1).max(1_000).default(50),
  FANFARE_SMPP_MESSAGE_ID: z.enum(['auto', 'hex', 'decimal']).default('auto'),
  FANFARE_SMPP_TLVS: tlvs.optional(),
  FANFARE_KANNEL_URL: httpUrl.optional(),
  /** Part of a path, where everybody else's secrets are headers; characters that need no escaping there. */
  FANFARE_INBOUND_SECRET: z
    .string()
    .regex(/^[A-Za-z0-9._~-]{1,200}$/, 'only letters, digits and . _ ~ - may be in it, at most 200')
    .optional(),
  FANFARE_RETENTION_DAYS: z.coerce.number().int().min(1).max(36_500).optional(),
  FANFARE_SIMULATOR_SEED: z.coerce.number().int().min(0).default(1),
  FANFARE_SIMULATOR_LATENCY_MS: z.coerce.number().int().min(0).max(60_000).default(20),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

type Variables = z.output<typeof VARIABLES>;

export interface Config {
  dataDir: string;
  databaseUrl: string | undefined;
  http: {
    host: string;
    port: number;
    publicUrl: string | undefined;
    trustProxy: string[] | number | undefined;
  };
  /** The messaging service that campaigns drive; parts left out are this process's own. */
  service: {
    authUrl: string | undefined;
    sendUrl: string | undefined;
    appUrl: string | undefined;
    clientId: string | undefined;
    clientSecret: string | undefined;
    apiKey: string | undefined;
    sessionCookie: string | undefined;
  };
  temporal: { address: string | undefined; namespace: string; cliPath: string | undefined };
  providers: Record<Channel, ProviderName>;
  /** Of the channels whose provider is `http`. */
  httpProviders: Partial<Record<Channel, { url: string; idempotent: boolean }>>;
  /** Of SMS, if it is `smpp`. */
  smpp:
    | {
        url: string;
        binds: number;
        window: number;
        messageId: 'auto' | 'hex' | 'decimal';
        tlvs: Record<string, string>;
      }
    | undefined;
  /** Where Kannel's sendsms is, if SMS go by it. */
  kannelUrl: string | undefined;
  /** How long records of messages are kept; for ever without it. */
  retentionDays: number | undefined;
  /** For every sender that has no limit of its own. */
  senderLimits: SenderLimits;
  /** In the path that carriers report to; without it one is made and kept. */
  inboundSecret: string | undefined;
  simulator: { seed: number; latencyMs: number };
  logLevel: string;
}

/** Fails with one StartupError that names every wrong variable. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = VARIABLES.superRefine(needUrls).safeParse(set);
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
    http: {
      host: v.FANFARE_HTTP_HOST,
      port: v.FANFARE_HTTP_PORT,
      publicUrl: v.FANFARE_PUBLIC_URL,
      trustProxy: v.FANFARE_TRUST_PROXY,
    },
    service: {
      authUrl: v.FANFARE_AUTH_URL,
      sendUrl: v.FANFARE_SEND_URL,
      appUrl: v.FANFARE_APP_URL,
      clientId: v.FANFARE_CLIENT_ID,
      clientSecret: v.FANFARE_CLIENT_SECRET,
      apiKey: v.FANFARE_API_KEY,
      sessionCookie: v.FANFARE_SESSION_COOKIE,
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
    retentionDays: v.FANFARE_RETENTION_DAYS,
    senderLimits: {
      email: { rate: v.FANFARE_EMAIL_RATE },
      sms: { rate: v.FANFARE_SMS_RATE },
      voice: { rate: v.FANFARE_VOICE_RATE, concurrentCalls: v.FANFARE_VOICE_CONCURRENT_CALLS },
    },
    inboundSecret: v.FANFARE_INBOUND_SECRET,
    simulator: { seed: v.FANFARE_SIMULATOR_SEED, latencyMs: v.FANFARE_SIMULATOR_LATENCY_MS },
    logLevel: v.LOG_LEVEL,
  };
}

/** An address, a network, or one of the names that the server knows for some of them. */
function isNetwork(text: string): boolean {
  if (['loopback', 'linklocal', 'uniquelocal'].includes(text)) return true;
  const [address = '', bits, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return false;
  return bits === undefined || (/^\d{1,3}$/.test(bits) && Number(bits) <= (version === 4 ? 32 : 128));
}

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

/** What a provider of SMS alone cannot do without. */
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
