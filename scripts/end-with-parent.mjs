const LOOK_MS = 500;

/**
 * Asks this process to stop in order, by SIGTERM, when its parent is gone. npm ends at once at a signal that reaches it
 * alone, as `kill` sends it, and tells its child nothing: the program and its servers would go on without a terminal.
 */
export function endWithParent() {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, LOOK_MS);
  timer.unref();
}
