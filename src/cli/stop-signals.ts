export interface StopSignals {
  /** Aborted at the first SIGINT or SIGTERM. */
  readonly signal: AbortSignal;
  dispose(): void;
}

/** The ordered stop takes less. If a part hangs, the process exits, because everything is safe against crashes. */
const STOP_LIMIT_MS = 9_500;
const EXIT_BY_SIGNAL = 130;

/** The first signal asks for an ordered stop within ten seconds; a second one ends the process at once. */
export function listenForStop(): StopSignals {
  const controller = new AbortController();
  const onSignal = (): void => {
    if (controller.signal.aborted) process.exit(EXIT_BY_SIGNAL);
    controller.abort();
    setTimeout(() => {
      process.stderr.write('fanfare: the stop took too long; ending now\n');
      process.exit(1);
    }, STOP_LIMIT_MS).unref();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);
  return {
    signal: controller.signal,
    dispose() {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    },
  };
}
