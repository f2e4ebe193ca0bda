/** What a server says to a connection that lacks TLS, a password or the right authority, and what to do. */

import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from 'pg';
import { lookAtPostgres } from '../../src/storage/look-at-postgres';
import { openStorage } from '../../src/storage/storage';
import { type Certificate, makeCertificate } from '../support/certificate';
import { answers, makeCluster } from '../support/postgres-server';
import { runTied, type TiedProcess } from '../support/run-tied';

let certificate: Certificate;
let server: TiedProcess;
let directory: string;
let url: (login: string, parameters?: string) => string;

/** As managed servers are set up: TLS alone, by a certificate of the vendor's own authority, and passwords. */
beforeAll(async () => {
  certificate = makeCertificate();
  const cluster = await makeCluster({ ssl: 'on' });
  const { uid, gid } = cluster.options;
  const write = (name: string, content: string | Buffer) => {
    const file = join(cluster.data, name);
    writeFileSync(file, content, { mode: 0o600 });
    if (uid !== undefined && gid !== undefined) chownSync(file, uid, gid);
  };
  write('server.key', certificate.key);
  write('server.crt', certificate.cert);
  write(
    'pg_hba.conf',
    'hostssl all fanfare all trust\nhostssl all ours all scram-sha-256\nhost plain fanfare all trust\n',
  );
  server = runTied(cluster.command, cluster.args, { ...cluster.options, stopSignal: 'SIGINT' });
  directory = cluster.directory;
  url = (login, parameters = '') =>
    `postgres://${login}@127.0.0.1:${cluster.port}/postgres${parameters && `?${parameters}`}`;
  await server.untilReady(() => answers(url('fanfare', 'sslmode=no-verify')));
  const client = new Client({ connectionString: url('fanfare', 'sslmode=no-verify') });
  await client.connect();
  await client.query("create role ours login password 'secret'");
  await client.end();
}, 60_000);

afterAll(async () => {
  await server.stop();
  certificate.remove();
  rmSync(directory, { recursive: true, force: true });
});

const failures = (databaseUrl: string) =>
  Promise.all([
    openStorage({ databaseUrl }).catch((error: unknown) => error),
    lookAtPostgres(databaseUrl).catch((error: unknown) => error),
  ]);

test('the authority of the certificate is named by sslrootcert', async () => {
  const trusting = url('ours:secret', `sslmode=verify-full&sslrootcert=${certificate.certFile}`);
  expect(await lookAtPostgres(trusting)).toMatchObject({ unknown: [] });
});

test.each([
  ['no TLS', () => url('ours:secret'), /no encryption/, /add sslmode=verify-full/],
  [
    'no authority',
    () => url('ours:secret', 'sslmode=verify-full'),
    /self-signed certificate/,
    /sslrootcert=<file>/,
  ],
  [
    'another host than the certificate',
    () =>
      url('ours:secret', `sslmode=verify-full&sslrootcert=${certificate.certFile}`).replace(
        '127.0.0.1',
        'localhost',
      ),
    /does not match certificate/,
    /the host that the certificate is for/,
  ],
  [
    "an authority's file that is not there",
    () => url('ours:secret', 'sslmode=verify-full&sslrootcert=/absent/authority.pem'),
    /ENOENT.*\/absent\/authority\.pem/,
    /sslrootcert=<file>/,
  ],
  ['no password', () => url('ours', 'sslmode=no-verify'), /password must be/, /the user and password/],
  [
    'a database that pg_hba.conf does not name',
    () => url('other:secret', 'sslmode=no-verify'),
    /no pg_hba.conf entry/,
    /pg_hba\.conf/,
  ],
])('%s is refused at once, with what to do', async (_what, databaseUrl, message, wayOut) => {
  for (const failure of await failures(databaseUrl())) {
    expect(failure).toMatchObject({
      message: expect.stringMatching(message),
      wayOut: expect.stringMatching(wayOut),
      mayPass: false,
    });
    expect(String(failure)).toContain('refuses us');
  }
});
