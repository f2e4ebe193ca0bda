import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

export interface TiedProcess {
  /** Resolves when `ready` says so; fails with the process's own words when it ends before. */
  untilReady(ready: () => Promise<boolean>): Promise<void>;
  stop(): Promise<void>;
}

const READY_LIMIT_MS = 60_000;
const POLL_MS = 50;

/**
 * Runs a server that must not outlive this process, however this process ends. A guardian between the
 * two holds a pipe from here: when the pipe closes, be it by kill -9, it stops the server. The guardian
 * runs as we do, since the server's user may not be allowed to read this checkout.
 */
export function runTied(
  command: string,
  args: string[],
  { stopSignal, ...options }: { cwd: string; uid?: number; gid?: number; stopSignal: NodeJS.Signals },
): TiedProcess {
  const guardian = spawn(
    process.execPath,
    [join(__dirname, 'guardian.cjs'), JSON.stringify({ command, args, stopSignal, options })],
    { stdio: ['pipe', 'ignore', 'pipe'] },
  );
  let output = '';
  let failure: Error | undefined;
  guardian.stderr.on('data', (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  });
  guardian.on('error', (error) => {
    failure = error;
  });
  const ended = new Promise<void>((done) => {
    guardian.once('close', () => {
      failure ??= new Error(`${command} has ended: ${output.trim()}`);
      done();
    });
  });
  return {
    async untilReady(ready) {
      const limit = Date.now() + READY_LIMIT_MS;
      while (!(await ready())) {
        if (failure) throw failure;
        if (Date.now() > limit) throw new Error(`${command} did not become ready: ${output.trim()}`);
        await delay(POLL_MS);
      }
    },
    async stop() {
      guardian.stdin.end();
      await ended;
    },
  };
}
