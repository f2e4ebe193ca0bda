import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOf } from './program';

/** A certificate that nobody but itself vouches for, valid for `127.0.0.1` or another name. */
export interface Certificate {
  key: Buffer;
  cert: Buffer;
  /** For NODE_EXTRA_CA_CERTS. */
  certFile: string;
  remove(): void;
}

export function makeCertificate(name = 'IP:127.0.0.1'): Certificate {
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-tls-'));
  const [keyFile, certFile] = [join(place, 'key.pem'), join(place, 'cert.pem')];
  const subject = ['-subj', '/CN=centre', '-addext', `subjectAltName=${name}`];
  const args = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject];
  execFileSync(programOf('openssl', 'openssl'), [...args, '-keyout', keyFile, '-out', certFile], {
    stdio: 'ignore',
  });
  return {
    key: readFileSync(keyFile),
    cert: readFileSync(certFile),
    certFile,
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}
