import { spawn } from 'node:child_process';

/** The result of one run of the engine. */
export type EngineResult =
  | { ok: true; output: Buffer }
  /** `code` of the operating system, such as ENOENT, or a description. */
  | { ok: false; problem: string };

/**
 * Runs the engine once, without a shell, with the text on stdin and limits for time and output. It is killed
 * beyond either, and the promise always settles.
 */
export function runEngine(
  executable: string,
  args: readonly string[],
  { input, timeoutMs, outputBytesMax }: { input: string; timeoutMs: number; outputBytesMax: number },
): Promise<EngineResult> {
  return new Promise((done) => {
    const child = spawn(executable, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    const chunks: Buffer[] = [];
    let bytes = 0;
    const finish = (result: EngineResult) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      // A process that it started may hold the pipe open, so stop reading.
      child.stdout.destroy();
      done(result);
    };
    const timer = setTimeout(() => finish({ ok: false, problem: `took over ${timeoutMs} ms` }), timeoutMs);
    child.once('error', (error: NodeJS.ErrnoException) =>
      finish({ ok: false, problem: error.code ?? error.message }),
    );
    // An engine that ends before it has read everything breaks the pipe; its exit code says why.
    child.stdin.on('error', () => {});
    child.stdin.end(input);
    child.stdout.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
      if (bytes > outputBytesMax) finish({ ok: false, problem: `wrote over ${outputBytesMax} bytes` });
      else chunks.push(chunk);
    });
    child.once('close', (code, signal) =>
      finish(
        code === 0
          ? { ok: true, output: Buffer.concat(chunks) }
          : { ok: false, problem: `ended with ${signal ?? `code ${code}`}` },
      ),
    );
  });
}
