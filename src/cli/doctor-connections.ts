import { type CertificateFiles, readCertificate, UnusableCertificate } from '../certificate';
import { ownerOf } from '../storage/directory-lock';
import { openTemporal } from '../temporal/connection';
import { cacheDirectory, lookForExecutable } from '../temporal/executable';
import type { Check, CheckResult } from './doctor';

const DAY_MS = 86_400_000;
/** Automatic renewal happens a month before the end, so that a certificate this close to it was not renewed. */
const RENEWED_DAYS_BEFORE = 14;

interface Listener {
  check: string;
  files: CertificateFiles;
  /** Variables that name the files. */
  variables: string;
  /** When the listener uses a renewed certificate. */
  taken: string;
  /** What others call it; unknown where there is no hint. */
  host?: string | undefined;
}

/** Checks the certificate of the listener for inbound mail, if it has one. */
export const lookAtMailCertificate: Check = async ({ config: { smtp } }) => {
  const files = smtp?.listen?.tls;
  if (!files) return [];
  return lookAt({
    check: 'inbound mail',
    files,
    variables: 'FANFARE_SMTP_LISTEN_TLS_CERT_FILE and FANFARE_SMTP_LISTEN_TLS_KEY_FILE',
    taken: 'at the next connection',
  });
};

/** Checks the certificate of the HTTP server, if it has one. */
export const lookAtHttpsCertificate: Check = async ({ config: { http } }) => {
  if (!http.tls) return [];
  return lookAt({
    check: 'https',
    files: http.tls,
    variables: 'FANFARE_TLS_CERT and FANFARE_TLS_KEY',
    taken: 'within seconds',
    host: http.publicUrl && new URL(http.publicUrl).hostname.replace(/^\[|\]$/g, ''),
  });
};

async function lookAt({ check, files, variables, taken, host }: Listener): Promise<CheckResult[]> {
  const renew = `Renew it in its place; the listener takes it up ${taken}, without a restart.`;
  const finding = (state: CheckResult['state'], found: string, wayOut?: string): CheckResult[] => [
    { check, state, found, ...(wayOut === undefined ? {} : { wayOut }) },
  ];
  try {
    const { validFrom, validTo, isFor } = await readCertificate(files);
    const now = Date.now();
    const until = validTo.toISOString().slice(0, 10);
    if (validTo.getTime() < now) return finding('broken', `the certificate has expired on ${until}`, renew);
    if (validFrom.getTime() > now) {
      const found = `the certificate is not valid before ${validFrom.toISOString()}`;
      return finding('broken', found, "Wait, or set this machine's clock.");
    }
    if (host !== undefined && !isFor(host)) {
      const wayOut = 'Get one for this name, or correct FANFARE_PUBLIC_URL.';
      return finding('broken', `the certificate is not for ${host}, the host of FANFARE_PUBLIC_URL`, wayOut);
    }
    const days = Math.floor((validTo.getTime() - now) / DAY_MS);
    const found = `the certificate is valid until ${until}, for ${days} more ${days === 1 ? 'day' : 'days'}`;
    return days < RENEWED_DAYS_BEFORE ? finding('note', found, renew) : finding('ok', found);
  } catch (error) {
    if (!(error instanceof UnusableCertificate)) throw error;
    return finding('broken', error.message, `Correct ${variables}, or let this user read the files.`);
  }
}

/** Checks the operator's server, or that of the running instance, or what a managed one needs to start. */
export const lookAtTemporal: Check = async ({ config, credentials, env }) => {
  const check = 'temporal';
  const { address, namespace, cliPath } = config.temporal;
  if (address) {
    await (await openTemporal({ address, namespace, env })).close();
    return [{ check, state: 'ok', found: `the server at ${address} has the namespace ${namespace}` }];
  }
  const managed = (await ownerOf(config.dataDir)) === undefined ? undefined : credentials?.temporal;
  if (managed) {
    await (await openTemporal(managed)).close();
    return [{ check, state: 'ok', found: `the managed server at ${managed.address} answers` }];
  }
  const { found, tried } = await lookForExecutable({ cliPath, cacheDir: cacheDirectory(env), env });
  if (found) {
    return [
      { check, state: 'ok', found: `a managed server would be started by ${found.path} (${found.origin})` },
    ];
  }
  return [
    {
      ...{ check, state: 'note', found: `there is no temporal executable yet (${tried.join('; ')})` },
      wayOut: 'The first start obtains one; or install the Temporal CLI, or set TEMPORAL_ADDRESS.',
    },
  ];
};
