import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port';
import { programOf } from './program';
import { until } from './until';

/** Postfix's test server: it accepts mail, or refuses it in the way its switches say. */
export interface SmtpSink {
  port: number;
  url: string;
  /** Each mail it kept, one file each. */
  mails(): string[];
  stop(): Promise<void>;
}

export async function startSmtpSink(
  switches: readonly string[] = [],
  { keep = true }: { keep?: boolean } = {},
): Promise<SmtpSink> {
  const program = programOf('smtp-sink');
  const port = await freePort();
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-sink-'));
  // Started by root it wants to be somebody else, who then owns where it writes.
  const user = process.getuid?.() === 0 ? ['-u', 'root'] : [];
  const dump = keep ? ['-d', join(directory, 'mail.')] : [];
  const child = spawn(program, [...user, ...dump, ...switches, `127.0.0.1:${port}`, '1000'], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString()).slice(-2_000);
  });
  await until('smtp-sink to listen', () => {
    if (child.exitCode !== null) throw new Error(`smtp-sink has ended: ${said}`);
    return listensAt(port);
  });
  return {
    port,
    url: `smtp://127.0.0.1:${port}?tls=none`,
    mails: () => readdirSync(directory).map((file) => readFileSync(join(directory, file), 'latin1')),
    async stop() {
      await stopped(child);
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

async function stopped(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
}

function listensAt(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      done(true);
    });
    socket.on('error', () => done(false));
  });
}
