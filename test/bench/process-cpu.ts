import { readdirSync, readFileSync } from 'node:fs';
import { Client } from 'pg';

/** CPU in milliseconds, by what used it. */
export type CpuBy = Record<string, number>;

interface Process {
  pid: number;
  parent: number;
  name: string;
  /** With its children that have ended, which only their parent still counts. */
  ms: number;
}

/** A tick of the kernel's accounting, on every Linux that matters. */
const TICK_MS = 10;

/** A process of Fanfare, and what to call its threads. */
export interface Program {
  name: string;
  pid: number;
}

/**
 * CPU that an installation has used so far: its own processes by thread, what they started by name, and PostgreSQL,
 * whose server may be another program's child. `others` are processes to be counted beside them, by the name given.
 */
export function cpuOfInstallation(
  programs: readonly Program[],
  postmaster: number | undefined,
  others: CpuBy = {},
): CpuBy {
  const processes = allProcesses();
  const cpu: CpuBy = {};
  const add = (name: string, ms: number) => {
    cpu[name] = (cpu[name] ?? 0) + ms;
  };
  for (const program of programs) {
    for (const [name, ms] of Object.entries(cpuByThread(program.pid))) add(`${program.name} ${name}`, ms);
    for (const one of below(processes, program.pid)) add(one.name, one.ms);
  }
  if (postmaster !== undefined && !programs.some(({ pid }) => isBelow(processes, postmaster, pid))) {
    for (const one of [...processes.filter((p) => p.pid === postmaster), ...below(processes, postmaster)]) {
      add('postgres', one.ms);
    }
  }
  for (const [name, other] of Object.entries(others)) {
    for (const one of processes) if (one.pid === other) add(name, one.ms);
  }
  return cpu;
}

/** Milliseconds for which the machine's cores have had nothing to do, all cores together. */
export function idleMs(): number {
  const [all = ''] = readFileSync('/proc/stat', 'utf8').split('\n');
  return Number(all.split(/\s+/)[4]) * TICK_MS;
}

/** What was used between two readings, in microseconds for each of so many messages; what used nothing is left out. */
export function cpuPerMessage(before: CpuBy, after: CpuBy, count: number): CpuBy {
  const perMessage = Object.entries(after).map(([name, ms]): [string, number] => [
    name,
    Math.round(((ms - (before[name] ?? 0)) * 1_000) / count),
  ]);
  return Object.fromEntries(perMessage.filter(([, micros]) => micros > 0).sort((a, b) => b[1] - a[1]));
}

/** The process that all of a server's sessions are children of; undefined when it is on another machine. */
export async function postmasterOf(connectionString: string): Promise<number | undefined> {
  const client = new Client({ connectionString });
  await client.connect();
  try {
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid');
    return allProcesses().find(({ pid, name }) => pid === rows[0]?.pid && name === 'postgres')?.parent;
  } finally {
    await client.end();
  }
}

/** Threads by the names that they give themselves; the first is the one that runs JavaScript. */
function cpuByThread(pid: number): CpuBy {
  const cpu: CpuBy = {};
  for (const thread of readdirSync(`/proc/${pid}/task`)) {
    const one = readStat(`/proc/${pid}/task/${thread}/stat`);
    if (!one) continue;
    const name = Number(thread) === pid ? 'main thread' : one.name.replace(/[-\d]+$/, '');
    cpu[name] = (cpu[name] ?? 0) + one.ms;
  }
  return cpu;
}

/** The children of a process, theirs, and so on. */
export const processesBelow = (pid: number): Process[] => below(allProcesses(), pid);

function allProcesses(): Process[] {
  return readdirSync('/proc').flatMap((entry) => {
    if (!/^\d+$/.test(entry)) return [];
    const one = readStat(`/proc/${entry}/stat`);
    return one ? [{ pid: Number(entry), parent: one.parent, name: one.name, ms: one.ms + one.reapedMs }] : [];
  });
}

function readStat(file: string) {
  let stat: string;
  try {
    stat = readFileSync(file, 'utf8');
  } catch {
    // It ended between the listing and now.
    return undefined;
  }
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ticks = (at: number) => (fields[at] ?? 0) * TICK_MS;
  return {
    name: stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')')),
    parent: fields[1] ?? 0,
    ms: ticks(11) + ticks(12),
    reapedMs: ticks(13) + ticks(14),
  };
}

function below(processes: readonly Process[], pid: number): Process[] {
  const children = processes.filter(({ parent }) => parent === pid);
  return children.flatMap((child) => [child, ...below(processes, child.pid)]);
}

const isBelow = (processes: readonly Process[], pid: number, root: number): boolean =>
  below(processes, root).some((one) => one.pid === pid);
