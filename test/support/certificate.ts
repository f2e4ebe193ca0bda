import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOf } from './program';

/** A certificate that nobody but itself vouches for, valid for `127.0.0.1` or another name. */
export interface Certificate {
  key: Buffer;
  cert: Buffer;
  /** For NODE_EXTRA_CA_CERTS. */
  certFile: string;
  keyFile: string;
  remove(): void;
}

export function makeCertificate(name = 'IP:127.0.0.1', { ended = false } = {}): Certificate {
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-tls-'));
  const [keyFile, certFile] = [join(place, 'key.pem'), join(place, 'cert.pem')];
  const openssl = programOf('openssl', 'openssl');
  const run = (args: string[]) => execFileSync(openssl, args, { cwd: place, stdio: 'ignore' });
  const subject = ['-subj', '/CN=centre', '-addext', `subjectAltName=${name}`];
  const common = ['req', '-newkey', 'rsa:2048', '-nodes', ...subject, '-keyout', keyFile];
  if (ended) {
    // Only as an authority of one's own may one name the end of what one signs.
    run([...common, '-out', 'request.pem']);
    writeFileSync(join(place, 'ca.cnf'), ENDED_AUTHORITY);
    writeFileSync(join(place, 'index'), '');
    const times = ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z'];
    run([
      ...['ca', '-config', 'ca.cnf', '-batch', '-notext', '-selfsign', ...times],
      ...['-keyfile', keyFile, '-in', 'request.pem', '-out', certFile],
    ]);
  } else run([...common, '-x509', '-days', '60', '-out', certFile]);
  return {
    key: readFileSync(keyFile),
    cert: readFileSync(certFile),
    certFile,
    keyFile,
    remove: () => rmSync(place, { recursive: true, force: true }),
  };
}

const ENDED_AUTHORITY = `
[ca]
default_ca = own
[own]
database = index
new_certs_dir = .
rand_serial = yes
default_md = sha256
policy = any
[any]
commonName = supplied
`;
