import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../support/root';

/** A process that runs a dev server, to be killed. Loads the build, as what runs from it would. */
const PROGRAM = `
const { startDevServer } = require(process.argv[1]);
const { createLog } = require(process.argv[2]);
const [executable, dataDir] = process.argv.slice(3);
startDevServer({
  executable, dataDir, namespace: 'default', log: createLog('silent'), preferredPorts: { grpc: 0, ui: 0 },
}).then(({ address, pid }) => console.log(JSON.stringify({ address, pid })));
`;

export interface OwnerProcess {
  address: string;
  serverPid: number;
  watchdogPid: number;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
}

export async function startOwner(executable: string, dataDir: string): Promise<OwnerProcess> {
  const build = join(ROOT, 'dist', 'src');
  const modules = [join(build, 'temporal', 'dev-server.js'), join(build, 'log.js')];
  const child: ChildProcess = spawn(process.execPath, ['-e', PROGRAM, ...modules, executable, dataDir], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const exited = new Promise<void>((done) => child.once('exit', () => done()));
  const said = await new Promise<string>((done, fail) => {
    child.stdout?.once('data', (chunk) => done(String(chunk)));
    child.once('exit', () => fail(new Error('the owner ended before its server was ready')));
  });
  const { address, pid } = JSON.parse(said) as { address: string; pid: number };
  const [, watchdog] = readFileSync(join(dataDir, 'temporal.pid'), 'utf8').trim().split(' ');
  return {
    address,
    serverPid: pid,
    watchdogPid: Number(watchdog),
    async kill() {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
