import {
  chmodSync,
  chownSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cacheDirectory } from '../../src/temporal/executable';
import { runTied } from './run-tied';
import { greetsAt } from './smtp-greeting';

/** A mail host that takes mail on and brings it further, warns of delays, and reports what it gave up. */
export interface Exim {
  /** What it did, line by line: `=>` for what it brought, `==` for what it tries again, `**` for what it gave up. */
  log(): string;
  stop(): Promise<void>;
}

interface Route {
  port: number;
  /** How long it is tried; an hour otherwise. */
  seconds?: number;
}

/** Where it is root, it runs as nobody, who may read none of root's files. */
const NOBODY = 65_534;

/** Tries what is waiting each second, and warns at the second try. Routes by domain. */
export async function startExim(port: number, routes: Record<string, Route>): Promise<Exim> {
  const unpacked = join(cacheDirectory(process.env), 'exim');
  if (!existsSync(join(unpacked, 'exim4'))) {
    throw new Error(
      `There is no Exim (Debian's package exim4-daemon-light) in ${unpacked}. Unpack it there: .ci/exim`,
    );
  }
  const place = mkdtempSync(join(tmpdir(), 'fanfare-test-exim-'));
  chmodSync(place, 0o755);
  cpSync(unpacked, join(place, 'program'), { recursive: true, verbatimSymlinks: true });
  const [user, group] = process.getuid?.() === 0 ? [NOBODY, NOBODY] : ownIds();
  for (const name of ['spool', 'log']) {
    mkdirSync(join(place, name));
    chownSync(join(place, name), user, group);
  }
  // The user that the program was built for, which only the package's installation makes.
  writeFileSync(join(place, 'passwd'), `Debian-exim:x:${user}:${group}::${place}:/bin/false\n`);
  writeFileSync(join(place, 'group'), `Debian-exim:x:${group}:\n`);
  const libraries = join(place, 'program/lib');
  const environment = {
    LD_LIBRARY_PATH: libraries,
    LD_PRELOAD: join(libraries, 'libnss_wrapper.so'),
    NSS_WRAPPER_PASSWD: join(place, 'passwd'),
    NSS_WRAPPER_GROUP: join(place, 'group'),
  };
  const program = join(place, 'program/exim4');
  const settings = join(place, 'exim.conf');
  writeFileSync(settings, settingsOf({ place, program, port, routes, keep: Object.keys(environment) }));
  // It refuses settings that belong to anybody but root and itself.
  chownSync(settings, user, group);
  const assigned = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
  const server = runTied('env', [...assigned, program, '-C', settings, '-bdf', '-q1s'], {
    ...{ cwd: '/', uid: user, gid: group },
    stopSignal: 'SIGTERM',
  });
  await server.untilReady(() => greetsAt(port));
  return {
    log: () => readFileSync(join(place, 'log/main'), 'utf8'),
    async stop() {
      await server.stop();
      // A delivery that was under way ends a moment later.
      rmSync(place, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
    },
  };
}

function ownIds(): [number, number] {
  return [process.getuid?.() ?? NOBODY, process.getgid?.() ?? NOBODY];
}

function settingsOf({
  place,
  program,
  port,
  routes,
  keep,
}: {
  place: string;
  program: string;
  port: number;
  routes: Record<string, Route>;
  keep: string[];
}): string {
  const routers = Object.entries(routes).map(
    ([domain, { port: to }], i) => `
route_${i}:
  driver = manualroute
  domains = ${domain}
  route_list = * 127.0.0.1::${to}
  self = send
  transport = onward`,
  );
  const retries = Object.entries(routes).map(
    ([domain, { seconds = 3_600 }]) => `${domain} * F,${seconds}s,1s`,
  );
  return `
exim_path = ${program}
spool_directory = ${place}/spool
log_file_path = ${place}/log/%s
primary_hostname = mta.example.net
local_interfaces = 127.0.0.1
daemon_smtp_ports = ${port}
keep_environment = ${keep.join(' : ')}
host_lookup =
rfc1413_hosts =
tls_advertise_hosts =
acl_smtp_rcpt = accept
delay_warning = 1s
begin routers
${routers.join('\n')}
begin transports
onward:
  driver = smtp
  allow_localhost
begin retry
${retries.join('\n')}
`;
}
