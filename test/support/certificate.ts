import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { issueCertificate } from './x509';

/** A certificate that nobody but itself vouches for, valid for `127.0.0.1` or another name. */
export interface Certificate {
  key: Buffer;
  cert: Buffer;
  /** For NODE_EXTRA_CA_CERTS. */
  certFile: string;
  keyFile: string;
  remove(): void;
}

const DAY_MS = 86_400_000;
const ENDED = { from: new Date('2020-01-01T00:00:00Z'), until: new Date('2020-02-01T00:00:00Z') };

export function makeCertificate(altName = 'IP:127.0.0.1', { ended = false } = {}): Certificate {
  const valid = { from: new Date(Date.now() - DAY_MS), until: new Date(Date.now() + 60 * DAY_MS) };
  const { key, cert } = issueCertificate({ altName, authority: true, ...(ended ? ENDED : valid) });
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-tls-'));
  const [keyFile, certFile] = [join(place, 'key.pem'), join(place, 'cert.pem')];
  writeFileSync(keyFile, key);
  writeFileSync(certFile, cert);
  return {
    ...{ key, cert, certFile, keyFile },
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}
