import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { isIP } from 'node:net';
import { createSecureContext } from 'node:tls';
import type { Log } from './log';

/** PEM: the certificate with those that vouch for it, and its private key. */
export interface CertificateFiles {
  certFile: string;
  keyFile: string;
}

export interface Certificate {
  cert: Buffer;
  key: Buffer;
  validFrom: Date;
  validTo: Date;
  /** Whether it is for this name or address, as browsers compare. */
  isFor(host: string): boolean;
}

/** Says which file is wrong and why, and nothing of what is in it. */
export class UnusableCertificate extends Error {
  constructor(reason: string, cause: unknown) {
    super(reason, { cause });
    this.name = 'UnusableCertificate';
  }
}

/**
 * Rejects with UnusableCertificate. An expired certificate is accepted, because most mail hosts do not mind
 * and browsers warn.
 */
export async function readCertificate({ certFile, keyFile }: CertificateFiles): Promise<Certificate> {
  const [cert, key] = [await read(certFile), await read(keyFile)];
  const parsed = tryTo(() => new X509Certificate(cert), `${certFile} holds no certificate in PEM`);
  const own = tryTo(() => createPrivateKey(key), `${keyFile} holds no private key in PEM without a password`);
  if (!parsed.checkPrivateKey(own)) {
    throw new UnusableCertificate(`${keyFile} is not the key of the certificate in ${certFile}`, undefined);
  }
  // Weaker keys than the library takes are found here, and not at the first connection.
  tryTo(() => createSecureContext({ cert, key }), `${certFile} is refused by the TLS library`);
  return {
    ...{ cert, key, validFrom: new Date(parsed.validFrom), validTo: new Date(parsed.validTo) },
    isFor: (host) => (isIP(host) ? parsed.checkIP(host) : parsed.checkHost(host)) !== undefined,
  };
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? 'for an unknown reason';
    throw new UnusableCertificate(`${file} cannot be read: ${reason}`, error);
  }
}

function tryTo<T>(action: () => T, reason: string): T {
  try {
    return action();
  } catch (error) {
    throw new UnusableCertificate(reason, error);
  }
}

/** A certificate that is renewed in its place while the process runs. */
export interface RenewedCertificate {
  /** As it was read last. */
  readonly current: Certificate;
  /**
   * Reads the files if they have changed. If they cannot be used, this is logged and the former certificate
   * stays.
   */
  renew(): Promise<Certificate | undefined>;
}

/** `what` the certificate is for, in the log. */
export async function openCertificate(
  files: CertificateFiles,
  what: string,
  log: Log,
): Promise<RenewedCertificate> {
  // Before the reading: what is changed meanwhile is read again.
  let seen = await stateOf(files);
  let current = await readCertificate(files);
  let renewing: Promise<Certificate | undefined> | undefined;
  if (current.validTo.getTime() < Date.now()) {
    log.warn({ validTo: current.validTo }, `The certificate for ${what} has expired`);
  }

  async function renew(): Promise<Certificate | undefined> {
    const now = await stateOf(files);
    if (now === seen) return undefined;
    seen = now;
    try {
      current = await readCertificate(files);
      log.info({ validTo: current.validTo }, `The certificate for ${what} was renewed`);
      return current;
    } catch (error) {
      // Only one of the two files was renewed. When the other follows, the files have changed again and are
      // read again.
      const reason = (error as Error).message;
      log.warn({ reason }, `The renewed certificate for ${what} cannot be used; the one before goes on`);
      return undefined;
    }
  }

  return {
    get current() {
      return current;
    },
    renew() {
      renewing ??= renew().finally(() => {
        renewing = undefined;
      });
      return renewing;
    },
  };
}

async function stateOf({ certFile, keyFile }: CertificateFiles): Promise<string> {
  const states = await Promise.all(
    [certFile, keyFile].map((file) =>
      stat(file).then(
        ({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`,
        (error: NodeJS.ErrnoException) => String(error.code),
      ),
    ),
  );
  return states.join();
}
