import { readFileSync } from 'node:fs';
import type { z } from 'zod';
import { namesOf, type ProviderName, SMS_URL, VARIABLES, type Variables } from './config-variables';
import { needVendors, type VendorConfig, vendorsOf } from './config-vendors';
import type { VendorKind } from './domain/account';
import { CHANNELS, type Channel } from './domain/channel';
import type { OptedOutCodes } from './domain/opted-out-codes';
import type { SenderMode } from './domain/registered-sender';
import type { SenderLimits } from './domain/sender-limit';
import type { SmtpRelayAddress } from './domain/smtp-relays';
import { StartupError } from './startup-error';

/**
 * What the environment's variables mean (config-variables.ts). They are read once, because a value that is read again could hold
 * for some parts only.
 */
export interface Config {
  dataDir: string;
  databaseUrl: string | undefined;
  /** Folder of the managed server's programs. */
  postgresBin: string | undefined;
  http: {
    host: string;
    port: number;
    publicUrl: string | undefined;
    /** The server speaks https with these files; what speaks to it from this machine uses a port without. */
    tls: { certFile: string; keyFile: string; loopbackPort: number } | undefined;
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
  temporal: {
    address: string | undefined;
    namespace: string;
    cliPath: string | undefined;
    /** Of its web UI, for people who read where the installation is. */
    uiUrl: string | undefined;
  };
  /** Traces, if a collector is named. */
  tracing: { serviceName: string } | undefined;
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
  /** The OpenID provider that users may log in at. */
  oidc: { issuer: string; clientId: string; clientSecret: string; acrValues: readonly string[] } | undefined;
  /** Which users must log in with one-time codes; `admin` includes owners. */
  requireTotp: Variables['FANFARE_REQUIRE_TOTP'];
  /** How long records of messages are kept; for ever without it. */
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

/** Variables that hold a secret. Each may be given as `<name>_FILE`, since files are how containers are given secrets. */
export const SECRETS = [
  ...['DATABASE_URL', 'FANFARE_SECRETS_KEY', 'FANFARE_CLIENT_SECRET', 'FANFARE_API_KEY'],
  ...['FANFARE_SESSION_COOKIE', 'FANFARE_INBOUND_SECRET', 'FANFARE_OIDC_CLIENT_SECRET'],
  ...['FANFARE_SMTP_URL', 'FANFARE_SMPP_URL', 'FANFARE_KANNEL_URL', 'FANFARE_TWILIO_AUTH_TOKEN'],
  ...['FANFARE_TWILIO_API_SECRET', 'FANFARE_TELNYX_API_KEY', 'FANFARE_VONAGE_SIGNATURE_SECRET'],
] as const;

/** The variables, those of files among them, and what is wrong with the files. */
function withSecretsOfFiles(environment: Record<string, string | undefined>) {
  const read = { ...environment };
  const findings: string[] = [];
  for (const name of SECRETS) {
    const file = environment[`${name}_FILE`];
    if (!file) continue;
    if (environment[name]) {
      findings.push(`${name}: ${name}_FILE is set as well; unset one of them`);
      continue;
    }
    try {
      read[name] = readFileSync(file, 'utf8').trim();
    } catch (error) {
      findings.push(
        `${name}_FILE: the file ${file} cannot be read: ${(error as NodeJS.ErrnoException).code}; let the user that Fanfare runs as read it`,
      );
    }
  }
  return { read, findings };
}

/** Fails with one StartupError that names every wrong variable. */
export function readConfig(given: Record<string, string | undefined>): Config {
  const v = readVariables(given);
  return {
    dataDir: v.FANFARE_DATA_DIR,
    databaseUrl: v.DATABASE_URL,
    postgresBin: v.FANFARE_POSTGRES_BIN,
    http: {
      host: v.FANFARE_HTTP_HOST,
      port: v.FANFARE_HTTP_PORT,
      publicUrl: v.FANFARE_PUBLIC_URL,
      tls: tlsOf(v),
      console: v.FANFARE_CONSOLE === 'on',
      trustProxy: v.FANFARE_TRUST_PROXY,
    },
    requestBounds: { perSecond: v.FANFARE_REQUESTS_PER_SECOND, atOnce: v.FANFARE_REQUESTS_AT_ONCE },
    insecureLinks: insecureLinksOf(v),
    metrics: { port: v.FANFARE_METRICS_PORT, temporalPort: v.FANFARE_TEMPORAL_METRICS_PORT },
    service: serviceOf(v),
    temporal: {
      address: v.TEMPORAL_ADDRESS,
      namespace: v.TEMPORAL_NAMESPACE,
      cliPath: v.TEMPORAL_CLI_PATH,
      uiUrl: v.FANFARE_TEMPORAL_UI,
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
    smpp: smppOf(v),
    kannelUrl: v.FANFARE_SMS_PROVIDER === 'kannel' ? v.FANFARE_KANNEL_URL : undefined,
    vendors: vendorsOf(v),
    smsOptedOut: v.FANFARE_SMS_OPTED_OUT_CODES,
    oidc: oidcOf(v),
    requireTotp: v.FANFARE_REQUIRE_TOTP,
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
    tracing: isTraced(v) ? { serviceName: v.OTEL_SERVICE_NAME } : undefined,
    workerBuildId: v.FANFARE_WORKER_BUILD_ID,
    logLevel: v.LOG_LEVEL,
  };
}

function readVariables(given: Record<string, string | undefined>): Variables {
  const { read, findings } = withSecretsOfFiles(given);
  const set = Object.fromEntries(Object.entries(read).filter(([, value]) => value !== ''));
  const parsed = VARIABLES.superRefine(needUrls, BESIDE)
    .superRefine(needTls, BESIDE)
    .superRefine(needSmtp, BESIDE)
    .superRefine(needOidc, BESIDE)
    .superRefine(needJsonTraces, BESIDE)
    .superRefine(needVendors, BESIDE)
    .safeParse(set);
  for (const { path, message } of parsed.error?.issues ?? []) findings.push(`${path.join('.')}: ${message}`);
  if (!parsed.success || findings.length > 0) {
    throw new StartupError(
      `Wrong configuration: ${findings.join('; ')}`,
      'Correct or unset these variables; docs/configuration.md lists what each may hold.',
    );
  }
  return parsed.data;
}

function smppOf(v: Variables): Config['smpp'] {
  if (v.FANFARE_SMS_PROVIDER !== 'smpp' || !v.FANFARE_SMPP_URL) return undefined;
  return {
    url: v.FANFARE_SMPP_URL,
    binds: v.FANFARE_SMPP_BINDS,
    window: v.FANFARE_SMPP_WINDOW,
    messageId: v.FANFARE_SMPP_MESSAGE_ID,
    tlvs: v.FANFARE_SMPP_TLVS ?? {},
  };
}

function serviceOf(v: Variables): Config['service'] {
  return {
    authUrl: v.FANFARE_AUTH_URL,
    sendUrl: v.FANFARE_SEND_URL,
    appUrl: v.FANFARE_APP_URL,
    clientId: v.FANFARE_CLIENT_ID,
    clientSecret: v.FANFARE_CLIENT_SECRET,
    apiKey: v.FANFARE_API_KEY,
    sessionCookie: v.FANFARE_SESSION_COOKIE,
    workspace: v.FANFARE_SERVICE_WORKSPACE,
    credentialsFile: v.FANFARE_SERVICE_CREDENTIALS_FILE,
  };
}

/** A link without https can be read and changed on the way, and one to this machine leads nowhere. */
function insecureLinksOf(v: Variables): string | undefined {
  if (v.FANFARE_EMAIL_PROVIDER !== 'smtp' || v.FANFARE_INSECURE_LINKS) return undefined;
  if (v.FANFARE_PUBLIC_URL?.startsWith('https:')) return undefined;
  return 'links in marketing mail need FANFARE_PUBLIC_URL with https; FANFARE_INSECURE_LINKS=true sends without';
}

const isTraced = (v: Variables) =>
  v.OTEL_SDK_DISABLED?.toLowerCase() !== 'true' &&
  (v.OTEL_EXPORTER_OTLP_ENDPOINT ?? v.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT) !== undefined;

/** A collector that is spoken to in another way would be sent to for years, and show nothing. */
function needJsonTraces(v: Variables, context: z.core.$RefinementCtx): void {
  const { OTEL_EXPORTER_OTLP_PROTOCOL: protocol } = v;
  if (!isTraced(v) || protocol === undefined || protocol === 'http/json') return;
  const message = 'only http/json is spoken; unset it, or set it to that';
  context.addIssue({ code: 'custom', path: ['OTEL_EXPORTER_OTLP_PROTOCOL'], message });
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

function needTls(v: Variables, context: z.core.$RefinementCtx): void {
  const files = ['FANFARE_TLS_CERT', 'FANFARE_TLS_KEY'] as const;
  const set = files.find((path) => v[path] !== undefined);
  if (!set) return;
  for (const path of files) {
    if (v[path] === undefined)
      context.addIssue({ code: 'custom', path: [path], message: `needed because ${set} is set` });
  }
  if (v.FANFARE_PUBLIC_URL?.startsWith('http:')) {
    const message = `this must begin with https: because ${set} is set`;
    context.addIssue({ code: 'custom', path: ['FANFARE_PUBLIC_URL'], message });
  }
}

function tlsOf(v: Variables): Config['http']['tls'] {
  const { FANFARE_TLS_CERT: certFile, FANFARE_TLS_KEY: keyFile } = v;
  return certFile && keyFile ? { certFile, keyFile, loopbackPort: v.FANFARE_LOOPBACK_PORT } : undefined;
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
  const set = [...OIDC, 'FANFARE_OIDC_ACR_VALUES' as const].find((path) => v[path] !== undefined);
  for (const path of set ? OIDC : []) {
    if (v[path] === undefined)
      context.addIssue({ code: 'custom', path: [path], message: `needed because ${set} is set` });
  }
}

function oidcOf(v: Variables): Config['oidc'] {
  const [issuer, clientId, clientSecret] = OIDC.map((path) => v[path]);
  const acrValues = v.FANFARE_OIDC_ACR_VALUES?.split(/\s+/).filter(Boolean) ?? [];
  return issuer && clientId && clientSecret ? { issuer, clientId, clientSecret, acrValues } : undefined;
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
