import type { StopSignals } from '../../supervision/supervised-process';

/** "Fast" shutdown: it ends connections and leaves a clean database. SIGTERM would wait for clients to leave. */
export const SIGNALS: StopSignals = { stop: 'INT', atOnce: 'QUIT' };
