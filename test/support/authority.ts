import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Issued, issueCertificate } from './x509';

/** Somebody who signs certificates, and whom only those trust who are told to. */
export interface Authority {
  cert: Buffer;
  /** For NODE_EXTRA_CA_CERTS. */
  certFile: string;
  /** For a name such as `DNS:hooks.example`. Valid for two days, or until days ago. */
  issue(name: string, days?: number): { key: Buffer; cert: Buffer };
  /** One that this one vouches for. */
  subordinate(): Authority;
  remove(): void;
}

const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

export function makeAuthority(): Authority {
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-ca-'));
  let made = 0;

  function authorityOf(own: Issued): Authority {
    const certFile = join(place, `authority-${made++}.pem`);
    writeFileSync(certFile, own.cert);
    return {
      cert: own.cert,
      certFile,
      issue: (altName, days = 2) =>
        issueCertificate({ altName, from: inDays(Math.min(days, 0) - 1), until: inDays(days), issuer: own }),
      subordinate: () =>
        authorityOf(issueCertificate({ authority: true, from: inDays(-1), until: inDays(2), issuer: own })),
      remove: () => rmSync(place, { recursive: true, force: true }),
    };
  }

  return authorityOf(issueCertificate({ authority: true, from: inDays(-1), until: inDays(2) }));
}
