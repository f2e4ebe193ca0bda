import { z } from 'zod';
import { CHANNELS, type Channel } from './domain/channel';
import { StartupError } from './startup-error';

/**
 * Every setting, read from the environment once. docs/configuration.md documents each; a test compares
 * the two. A variable that is set but empty counts as not set.
 */
const PROVIDERS = ['simulator'] as const;
export type ProviderName = (typeof PROVIDERS)[number];

const port = z.coerce.number().int().min(0).max(65_535);
const baseUrl = z.url({ protocol: /^https?$/ }).transform((value) => value.replace(/\/+$/, ''));

export const VARIABLES = z.object({
  FANFARE_DATA_DIR: z.string().default('.fanfare'),
  DATABASE_URL: z.url({ protocol: /^postgres(ql)?$/ }).optional(),
  FANFARE_HTTP_HOST: z.string().default('127.0.0.1'),
  FANFARE_HTTP_PORT: port.default(8080),
  FANFARE_PUBLIC_URL: baseUrl.optional(),
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
  FANFARE_SMS_PROVIDER: z.enum(PROVIDERS).default('simulator'),
  FANFARE_VOICE_PROVIDER: z.enum(PROVIDERS).default('simulator'),
  FANFARE_SIMULATOR_SEED: z.coerce.number().int().min(0).default(1),
  FANFARE_SIMULATOR_LATENCY_MS: z.coerce.number().int().min(0).max(60_000).default(20),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

export interface Config {
  dataDir: string;
  databaseUrl: string | undefined;
  http: { host: string; port: number; publicUrl: string | undefined };
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
  simulator: { seed: number; latencyMs: number };
  logLevel: string;
}

/** Fails with one StartupError that names every wrong variable. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const set = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
  const parsed = VARIABLES.safeParse(set);
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
    http: { host: v.FANFARE_HTTP_HOST, port: v.FANFARE_HTTP_PORT, publicUrl: v.FANFARE_PUBLIC_URL },
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
      CHANNELS.map((channel) => [channel, v[`FANFARE_${channel.toUpperCase() as 'SMS'}_PROVIDER`]]),
    ) as Record<Channel, ProviderName>,
    simulator: { seed: v.FANFARE_SIMULATOR_SEED, latencyMs: v.FANFARE_SIMULATOR_LATENCY_MS },
    logLevel: v.LOG_LEVEL,
  };
}
