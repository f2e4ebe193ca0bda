import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { programOf } from './program';

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

const NEW_KEY = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes'];

export function makeAuthority(): Authority {
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-ca-'));
  const file = (name: string) => join(place, name);
  const openssl = (...args: string[]) =>
    execFileSync(programOf('openssl', 'openssl'), args, { stdio: 'ignore' });
  let made = 0;

  function authorityOf(own: string): Authority {
    const [keyFile, certFile] = [file(`${own}.key`), file(`${own}.pem`)];
    const sign = (extension: string, days: number): string => {
      const one = `signed-${made++}`;
      const [key, request, cert] = ['key', 'csr', 'pem'].map((kind) => file(`${one}.${kind}`)) as [
        string,
        string,
        string,
      ];
      const subject = ['-subj', `/CN=${one}`, '-addext', extension];
      openssl('req', '-new', ...NEW_KEY, ...subject, '-keyout', key, '-out', request);
      const by = ['-CA', certFile, '-CAkey', keyFile, '-CAcreateserial'];
      const until = ['-days', String(days), '-copy_extensions', 'copy'];
      openssl('x509', '-req', '-in', request, ...by, ...until, '-out', cert);
      return one;
    };
    return {
      cert: readFileSync(certFile),
      certFile,
      issue(name, days = 2) {
        const one = sign(`subjectAltName=${name}`, days);
        return { key: readFileSync(file(`${one}.key`)), cert: readFileSync(file(`${one}.pem`)) };
      },
      subordinate: () => authorityOf(sign('basicConstraints=critical,CA:TRUE', 2)),
      remove: () => rmSync(place, { recursive: true, force: true }),
    };
  }

  const out = ['-keyout', file('root.key'), '-out', file('root.pem')];
  openssl('req', '-x509', ...NEW_KEY, '-days', '2', '-subj', '/CN=Authority of a test', ...out);
  return authorityOf('root');
}
