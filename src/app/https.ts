import { openCertificate, UnusableCertificate } from '../certificate';
import type { Config } from '../config';
import { LIMITS } from '../domain/limits';
import type { App } from '../http/request/routing';
import { type KeyPair, renewCertificate } from '../http/tls';
import type { Log } from '../log';
import { StartupError } from '../startup-error';
import type { Shutdown } from './shutdown';

/** The certificate of FANFARE_TLS_CERT and FANFARE_TLS_KEY, as it is at the start. */
export interface Https {
  current: KeyPair;
  /** From now on a renewed certificate is used for new connections; those that are open keep theirs. */
  follow(app: App): void;
}

export async function openHttps(
  { tls }: Config['http'],
  log: Log,
  shutdown: Shutdown,
): Promise<Https | undefined> {
  if (!tls) return undefined;
  const certificate = await openCertificate(tls, 'https', log).catch(refuse);
  return {
    current: certificate.current,
    follow(app) {
      const look = async (): Promise<void> => {
        const renewed = await certificate.renew();
        if (renewed) renewCertificate(app, renewed);
      };
      const timer = setInterval(() => void look(), LIMITS.certificateLookMs);
      timer.unref();
      shutdown.add('certificate', async () => clearInterval(timer));
    },
  };
}

function refuse(error: unknown): never {
  if (!(error instanceof UnusableCertificate)) throw error;
  throw new StartupError(
    `The certificate for https cannot be used: ${error.message}`,
    'Correct FANFARE_TLS_CERT and FANFARE_TLS_KEY: a certificate with those that vouch for it and its private key, in PEM, in files that this user may read. Without the two, the server speaks http.',
    { cause: error },
  );
}
