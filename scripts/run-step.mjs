import { spawn } from 'node:child_process';

const TAIL_LINES = 30;
const TAIL_BYTES = 64 * 1024;
const PLAIN_INTERVAL_MS = 10_000;

/**
 * Runs one long command and shows what goes on and for how long: on a terminal one line that rewrites
 * itself, elsewhere a plain line now and then. A failure shows the end of the command's output and ends
 * this process.
 */
export function runStep(title, command, args, cwd, lock) {
  return new Promise((resolve) => {
    const out = process.stderr;
    const started = Date.now();
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    // Should this process be killed, the command goes on for a while: the next one has to wait for it.
    lock.addProcess(child.pid);
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => {
        output = (output + chunk).slice(-TAIL_BYTES);
      });
    }
    const seconds = () => `${Math.round((Date.now() - started) / 1_000)} s`;
    const show = () =>
      out.write(out.isTTY ? `\r\x1b[K${title}: ${seconds()}` : `${title}: ${seconds()} so far\n`);
    if (!out.isTTY) out.write(`${title}\n`);
    const ticker = setInterval(show, out.isTTY ? 1_000 : PLAIN_INTERVAL_MS);

    // Also when a step beside it fails.
    const endChild = () => child.kill();
    process.once('exit', endChild);
    const stop = (signal) => {
      child.kill(signal);
      lock.release();
      process.exit(signal === 'SIGINT' ? 130 : 143);
    };
    process.once('SIGINT', stop).once('SIGTERM', stop);

    child.on('error', (error) => finish(error.message));
    child.on('close', (code, signal) => finish(code === 0 ? '' : `ended with ${signal || `code ${code}`}`));

    function finish(failure) {
      clearInterval(ticker);
      process.off('SIGINT', stop).off('SIGTERM', stop).off('exit', endChild);
      const line = `${title}: ${failure || 'done'} after ${seconds()}`;
      out.write(out.isTTY ? `\r\x1b[K${line}\n` : `${line}\n`);
      if (!failure) return resolve();
      const tail = output.trimEnd().split('\n').slice(-TAIL_LINES);
      out.write(
        `${tail.join('\n')}\n\n${title} failed: see above. The command was: ${[command, ...args].join(' ')}\n`,
      );
      lock.release();
      return process.exit(1);
    }
  });
}
