import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { programOf } from './program';
import { runTied } from './run-tied';
import { greetsAt } from './smtp-greeting';

const run = promisify(execFile);

/** A mail host that takes mail on and brings it further, or reports that it could not. */
export interface Postfix {
  stop(): Promise<void>;
}

const SERVICES = [
  'cleanup unix n - n - 0 cleanup',
  'qmgr unix n - n 300 1 qmgr',
  'rewrite unix - - n - - trivial-rewrite',
  ...['bounce', 'defer', 'trace'].map((name) => `${name} unix - - n - 0 bounce`),
  ...['smtp', 'error', 'retry', 'proxymap'].map((name) => `${name} unix - - n - - ${name}`),
  'anvil unix - - n - 1 anvil',
  'scache unix - - n - 1 scache',
  'postlog unix-dgram n - n - 1 postlogd',
];

/** An instance of its own beside one that the machine may have. Ports by domain; `*` is any other. */
export async function startPostfix(port: number, routes: Record<string, number>): Promise<Postfix> {
  const postfix = programOf('postfix');
  const { stdout } = await run(postfix.replace(/postfix$/, 'postconf'), ['-dh', 'daemon_directory']);
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-postfix-'));
  chmodSync(place, 0o755);
  for (const name of ['etc', 'queue', 'data']) mkdirSync(join(place, name));
  const user = Number((await run('id', ['-u', 'postfix'])).stdout);
  chownSync(join(place, 'data'), user, 0);
  const transports = Object.entries(routes).map(([domain, to]) => `${domain}=smtp:[127.0.0.1]:${to}`);
  const settings = {
    compatibility_level: '3.6',
    queue_directory: join(place, 'queue'),
    data_directory: join(place, 'data'),
    mail_owner: 'postfix',
    inet_interfaces: '127.0.0.1',
    inet_protocols: 'ipv4',
    myhostname: 'mta.example.net',
    mydestination: '',
    local_recipient_maps: '',
    mynetworks: '127.0.0.0/8',
    smtpd_relay_restrictions: 'permit_mynetworks, reject',
    disable_dns_lookups: 'yes',
    smtp_host_lookup: 'native',
    transport_maps: `inline:{ ${transports.join(', ')} }`,
    maillog_file: join(place, 'log'),
    maillog_file_prefixes: place,
    minimal_backoff_time: '1s',
    queue_run_delay: '1s',
  };
  const text = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
  writeFileSync(join(place, 'etc/main.cf'), text.join(''));
  writeFileSync(
    join(place, 'etc/master.cf'),
    `127.0.0.1:${port} inet n - n - - smtpd\n${SERVICES.join('\n')}\n`,
  );
  await run(postfix, ['-c', join(place, 'etc'), 'check']);
  const master = join(stdout.trim(), 'master');
  // Each of its processes closes every file it might have inherited, and takes seconds where very many are allowed.
  const command = `ulimit -n 1024; exec ${master} -c ${join(place, 'etc')} -s`;
  const server = runTied('sh', ['-c', command], { cwd: '/', stopSignal: 'SIGTERM' });
  await server.untilReady(() => greetsAt(port));
  return {
    async stop() {
      await server.stop();
      rmSync(place, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}
