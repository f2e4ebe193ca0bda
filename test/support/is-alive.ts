import { readFileSync } from 'node:fs';

/**
 * Whether the process runs. One that was killed keeps its number until its parent has asked about it, which process 1
 * of a container without an init never does.
 */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !hasEnded(pid);
}

function hasEnded(pid: number): boolean {
  try {
    return /\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}
