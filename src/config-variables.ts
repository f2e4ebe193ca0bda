import { z } from 'zod';
import {
  baseUrl,
  domain,
  flag,
  hostAndPort,
  httpUrl,
  issuerUrl,
  openUrl,
  optedOutCodes,
  port,
  positive,
  postgresUrl,
  rate,
  secretsKeys,
  smtpRelays,
  tlvs,
  trustedProxies,
  urls,
  whole,
} from './config-values';
import { VENDOR_KINDS } from './domain/account';
import type { Channel } from './domain/channel';
import { LIMITS } from './domain/limits';
import { SENDER_MODES } from './domain/registered-sender';

/**
 * Every variable of the environment and its form. docs/configuration.md documents each; a test compares the two. A variable
 * that is set but empty counts as not set.
 */
const PROVIDERS = ['simulator', 'http'] as const;
const EMAIL_PROVIDERS = [...PROVIDERS, 'smtp'] as const;
const SMS_PROVIDERS = [...PROVIDERS, 'smpp', 'kannel', ...VENDOR_KINDS] as const;
const VOICE_PROVIDERS = [...PROVIDERS, ...VENDOR_KINDS] as const;
export type ProviderName = (typeof EMAIL_PROVIDERS)[number] | (typeof SMS_PROVIDERS)[number];

export const VARIABLES = z.object({
  FANFARE_DATA_DIR: z.string().default('.fanfare'),
  DATABASE_URL: postgresUrl.optional(),
  FANFARE_POSTGRES_BIN: z.string().optional(),
  FANFARE_HTTP_HOST: z.string().default('127.0.0.1'),
  FANFARE_HTTP_PORT: port.default(8080),
  FANFARE_TLS_CERT: z.string().optional(),
  FANFARE_TLS_KEY: z.string().optional(),
  FANFARE_LOOPBACK_PORT: port.default(0),
  FANFARE_PUBLIC_URL: baseUrl.optional(),
  FANFARE_CONSOLE: z.enum(['on', 'off']).default('on'),
  FANFARE_METRICS_PORT: port.optional(),
  FANFARE_TEMPORAL_METRICS_PORT: whole(1, 65_535).optional(),
  FANFARE_TRUST_PROXY: trustedProxies.optional(),
  FANFARE_REQUESTS_PER_SECOND: whole(1, 1_000_000).default(LIMITS.requestsPerSecondDefault),
  FANFARE_REQUESTS_AT_ONCE: whole(1, 100_000).default(LIMITS.requestsAtOnceDefault),
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
  TEMPORAL_ADDRESS: z
    .string()
    .regex(/^[^\s/]+$/, 'this must be host:port such as temporal.example.com:7233, without a scheme')
    .optional(),
  TEMPORAL_NAMESPACE: z.string().default('default'),
  TEMPORAL_CLI_PATH: z.string().optional(),
  FANFARE_TEMPORAL_UI: openUrl.optional(),
  FANFARE_EMAIL_PROVIDER: z.enum(EMAIL_PROVIDERS).default('simulator'),
  FANFARE_SMS_PROVIDER: z.enum(SMS_PROVIDERS).default('simulator'),
  FANFARE_VOICE_PROVIDER: z.enum(VOICE_PROVIDERS).default('simulator'),
  FANFARE_EMAIL_RATE: rate.optional(),
  FANFARE_SMS_RATE: rate.optional(),
  FANFARE_VOICE_RATE: rate.optional(),
  FANFARE_VOICE_CONCURRENT_CALLS: whole(1, 100_000).optional(),
  FANFARE_VOICE_ACCOUNT_CONCURRENT_CALLS: whole(1, LIMITS.liveCallsMax).optional(),
  FANFARE_CALL_FAULT_SECONDS: positive(86_400).optional(),
  FANFARE_CALL_SILENCE_SECONDS: positive(86_400).default(LIMITS.callLeaseSeconds + LIMITS.callGraceSeconds),
  FANFARE_EMAIL_HTTP_URL: httpUrl.optional(),
  FANFARE_EMAIL_HTTP_IDEMPOTENT: flag,
  FANFARE_SMS_HTTP_URL: httpUrl.optional(),
  FANFARE_SMS_HTTP_IDEMPOTENT: flag,
  FANFARE_VOICE_HTTP_URL: httpUrl.optional(),
  FANFARE_VOICE_HTTP_IDEMPOTENT: flag,
  FANFARE_SMTP_URL: smtpRelays.optional(),
  FANFARE_SMTP_CONNECTIONS: whole(1, LIMITS.smtpConnectionsMax).default(LIMITS.smtpConnectionsDefault),
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
  FANFARE_SMPP_BINDS: whole(1, 50).default(1),
  FANFARE_SMPP_WINDOW: whole(1, 1_000).default(50),
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
  FANFARE_OIDC_ACR_VALUES: z.string().optional(),
  FANFARE_REQUIRE_TOTP: z.enum(['none', 'admin', 'all']).default('none'),
  FANFARE_RETENTION_DAYS: whole(1, 36_500).optional(),
  FANFARE_AUDIT_RETENTION_DAYS: whole(1, 36_500).optional(),
  FANFARE_SENDERS: z.enum(SENDER_MODES).default('open'),
  FANFARE_SPEECH: z.enum(['none', 'espeak-ng']).default('none'),
  FANFARE_SIMULATOR_SEED: whole(0).default(1),
  FANFARE_SIMULATOR_LATENCY_MS: whole(0, 60_000).default(20),
  FANFARE_WORKER_BUILD_ID: z
    .string()
    .regex(/^[\w.+-]{1,100}$/, 'use 1 to 100 letters, digits, and . _ + -')
    .optional(),
  OTEL_EXPORTER_OTLP_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: httpUrl.optional(),
  OTEL_EXPORTER_OTLP_PROTOCOL: z.string().optional(),
  OTEL_SERVICE_NAME: z.string().default('fanfare'),
  OTEL_SDK_DISABLED: z.string().optional(),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
});

export type Variables = z.output<typeof VARIABLES>;

/** The variable that a provider for SMS needs. */
export const SMS_URL = { smpp: 'FANFARE_SMPP_URL', kannel: 'FANFARE_KANNEL_URL' } as const;

/** A channel's variables. */
export function namesOf(channel: Channel) {
  const prefix = `FANFARE_${channel.toUpperCase() as Uppercase<Channel>}` as const;
  return {
    provider: `${prefix}_PROVIDER`,
    url: `${prefix}_HTTP_URL`,
    idempotent: `${prefix}_HTTP_IDEMPOTENT`,
  } as const;
}
