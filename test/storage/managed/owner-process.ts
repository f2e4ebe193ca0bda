import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../support/root';

/** A process that runs a managed server, to be killed. Loads the build, as what runs from it would. */
const PROGRAM = `
const { startManagedPostgres } = require(process.argv[1]);
const { createLog } = require(process.argv[2]);
const [uid, gid] = process.argv.slice(4).map(Number);
if (uid) {
  process.setgroups([]);
  process.setgid(gid);
  process.setuid(uid);
}
startManagedPostgres({ dataDir: process.argv[3], env: process.env, log: createLog('silent') })
  .then(({ url, pid }) => console.log(JSON.stringify({ url, pid })));
`;

export interface OwnerProcess {
  url: string;
  serverPid: number;
  watchdogPid: number;
  pid: number;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
}

export async function startOwner(
  dataDir: string,
  { as, env }: { as?: { uid: number; gid: number }; env?: NodeJS.ProcessEnv } = {},
): Promise<OwnerProcess> {
  const build = join(ROOT, 'dist', 'src');
  const modules = [join(build, 'storage', 'managed', 'managed-postgres.js'), join(build, 'log.js')];
  // It becomes the other user after it has loaded the build, which may be where only this user can read it.
  const user = as ? [String(as.uid), String(as.gid)] : [];
  const child: ChildProcess = spawn(process.execPath, ['-e', PROGRAM, ...modules, dataDir, ...user], {
    stdio: ['ignore', 'pipe', 'pipe'],
    cwd: '/',
    env: env ?? process.env,
  });
  let errors = '';
  child.stderr?.on('data', (chunk) => (errors += chunk));
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const said = await new Promise<string>((done, fail) => {
    child.stdout?.once('data', (chunk) => done(String(chunk)));
    child.once('close', () => fail(new Error(`the owner ended before its server was ready: ${errors}`)));
  });
  const { url, pid } = JSON.parse(said) as { url: string; pid: number };
  const [, watchdog] = readFileSync(join(dataDir, 'postgres-run', 'postgres.pid'), 'utf8')
    .trim()
    .split(' ');
  return {
    url,
    serverPid: pid,
    watchdogPid: Number(watchdog),
    pid: child.pid as number,
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
