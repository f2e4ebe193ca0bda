import { setTimeout as delay } from 'node:timers/promises';
import type { Log } from '../log';
import { isFullDisk, NoRoomError } from './full-disk';
import type { SupervisedProcess } from './supervised-process';

/**
 * A server that ends again and again is restarted only this many times, 0.25 to 8 s apart. What it does on a full disk
 * does not count, for as long as that lasts, so that everything goes on by itself once there is room.
 */
const RESTARTS_MAX = 6;
const RESTART_DELAY_MS = 250;
const RESTART_DELAY_MAX_MS = 8_000;
/** A server that ran for this long had started well; its next death counts as the first. */
const STABLE_AFTER_MS = 60_000;

/** How to find a server that runs and no longer works. */
export interface HealthCheck {
  /** Rejects when the server does not work, at the latest after `everyMs`. */
  ask(): Promise<unknown>;
  everyMs: number;
  /** Time from the first bad answer to the restart, without a good answer in between, by what the latest one says. */
  restartAfterMs(why: string): number;
}

export interface RunningServer {
  process: SupervisedProcess;
  pid: number;
}

export type CrashOutcome = { restarted: true } | { restarted: false; error: Error };

export interface KeepRunningOptions {
  /** For the log, for example `Temporal server`. */
  name: string;
  log: Log;
  /** Where the server keeps its files, to know whether its disk is full. */
  dataDir: string;
  /** Must end what it started when the signal aborts. */
  start(signal: AbortSignal): Promise<RunningServer>;
  /** Called when a server that died by itself runs again, or is given up. */
  onCrash?: ((outcome: CrashOutcome) => void) | undefined;
  health?: HealthCheck | undefined;
}

/** Restarts a server when it dies by itself or no longer works, until it is stopped. */
export function keepRunning(
  first: RunningServer,
  options: KeepRunningOptions,
): { readonly current: RunningServer; stop(): Promise<void> } {
  const stopping = new AbortController();
  let current = first;
  const supervision = supervise();

  async function supervise(): Promise<void> {
    const { log, name, dataDir } = options;
    let restarts = 0;
    let delayMs = RESTART_DELAY_MS;
    for (;;) {
      const startedAt = performance.now();
      const watched = new AbortController();
      void endWhenSick(current, options, watched.signal);
      const { code } = await current.process.ended;
      watched.abort();
      if (stopping.signal.aborted) return;
      const output = current.process.tail();
      log.error({ code, output }, `the ${name} died`);
      const isStable = performance.now() - startedAt > STABLE_AFTER_MS;
      if (isStable) delayMs = RESTART_DELAY_MS;
      if (isStable || (await isFullDisk(dataDir, output))) restarts = 0;
      let next: RunningServer | undefined;
      let lastError = new Error(`the ${name} died again and again`);
      while (!next && restarts < RESTARTS_MAX && !stopping.signal.aborted) {
        await delay(delayMs, undefined, { signal: stopping.signal }).catch(() => {});
        delayMs = Math.min(2 * delayMs, RESTART_DELAY_MAX_MS);
        if (stopping.signal.aborted) return;
        restarts++;
        next = await options.start(stopping.signal).catch(async (error: Error) => {
          lastError = error;
          if (error instanceof NoRoomError || (await isFullDisk(dataDir, error.message))) {
            restarts = 0;
            const wayOut = `Make room on the disk of ${dataDir}; the server then starts by itself.`;
            log.error({ why: error.message, wayOut }, `no room for the ${name}`);
          }
          return undefined;
        });
      }
      if (stopping.signal.aborted) return next?.process.stop();
      if (!next) return options.onCrash?.({ restarted: false, error: lastError });
      current = next;
      log.warn({ pid: current.pid }, `the ${name} is running again`);
      options.onCrash?.({ restarted: true });
    }
  }

  return {
    get current() {
      return current;
    },
    async stop() {
      stopping.abort();
      await current.process.stop();
      await supervision;
    },
  };
}

/** Ends a server that has had no good answer for too long, so that it is restarted like one that died. */
async function endWhenSick(
  server: RunningServer,
  { health, log, name }: KeepRunningOptions,
  signal: AbortSignal,
): Promise<void> {
  if (!health) return;
  const { everyMs } = health;
  let sickSince: number | undefined;
  for (;;) {
    await delay(everyMs, undefined, { signal, ref: false }).catch(() => {});
    if (signal.aborted) return;
    const why = await health.ask().then(
      () => undefined,
      (error: Error) => error.message,
    );
    if (signal.aborted) return;
    if (why === undefined) {
      sickSince = undefined;
      continue;
    }
    // By a clock that is never set, so that a jump neither restarts a server nor spares one.
    sickSince ??= performance.now();
    const sickMs = Math.round(performance.now() - sickSince);
    const restartAfterMs = health.restartAfterMs(why);
    log.warn(
      { why, sickMs },
      `the ${name} does not work; it is restarted after ${restartAfterMs} ms of this`,
    );
    if (sickMs >= restartAfterMs) return server.process.stop();
  }
}
