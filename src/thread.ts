import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';

/**
 * Starts a program of ours in a thread of its own; `program` is its file without the ending. From its sources, as tests and
 * `npm run dev` run, the thread compiles them as they are loaded. It keeps the process from its end only while it is `ref`ed.
 */
export function openThread(program: string): Worker {
  const worker = existsSync(`${program}.js`)
    ? new Worker(`${program}.js`)
    : new Worker(`${program}.ts`, { execArgv: ['--require', 'tsx/cjs'] });
  worker.unref();
  return worker;
}

/** The same in all threads of a process, in milliseconds; `performance.now()` begins anew in each of them. */
export function monotonicMs(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1_000 + nanoseconds / 1e6;
}
