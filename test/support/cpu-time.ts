/**
 * Milliseconds of CPU that a synchronous function takes: a bound on a parser holds by it on a busy machine too, where
 * the clock would count the time of other processes.
 */
export function cpuMs(work: () => unknown): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
