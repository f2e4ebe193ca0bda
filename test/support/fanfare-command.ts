import { type ChildProcess, spawn } from 'node:child_process';
import { MAIN } from './root';

export interface Running {
  readonly child: ChildProcess;
  out(): string;
  /** Its exit code, with all that it has printed. */
  readonly ended: Promise<{ out: string; err: string; code: number | null }>;
}

/** A command of the program as it is built, in a process of its own. */
export function runFanfare(args: string[], env: Record<string, string>, input = ''): Running {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, LOG_LEVEL: 'silent', ...env },
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk) => {
    out += chunk;
  });
  child.stderr.on('data', (chunk) => {
    err += chunk;
  });
  child.stdin.end(input);
  const ended = new Promise<{ out: string; err: string; code: number | null }>((done) =>
    child.once('close', (code) => done({ out, err, code })),
  );
  return { child, out: () => out, ended };
}
