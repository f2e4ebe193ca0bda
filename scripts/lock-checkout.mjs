import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const POLL_MS = 200;
const SETTLE_MS = 50;

/**
 * One preparation at a time in a checkout. The lock names the processes at work, itself and what it runs, each with the
 * time of its start, because a container that starts again gives the same numbers again, often to the same program. It
 * is void when none of them lives, so that a killed preparation stops no other.
 */
export async function lockCheckout(file) {
  const me = nameOf(process.pid);
  const mine = [me];
  let told = false;
  for (;;) {
    if (create(file, mine)) {
      // Two that find the same void lock may remove each other's fresh one; the last to write has it.
      await delay(SETTLE_MS);
      if (holders(file)[0] === me) break;
      continue;
    }
    const others = holders(file);
    if (!others.some(isRunning)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told)
      process.stderr.write(`Waiting for process ${pidOf(others[0])}, which prepares this checkout\n`);
    told = true;
    await delay(POLL_MS);
  }
  return {
    addProcess(pid) {
      if (!pid) return;
      mine.push(nameOf(pid));
      writeFileSync(`${file}.new`, mine.join(' '));
      renameSync(`${file}.new`, file);
    },
    release() {
      rmSync(file, { force: true });
    },
  };
}

function create(file, names) {
  try {
    writeFileSync(file, names.join(' '), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function holders(file) {
  try {
    return readFileSync(file, 'utf8').split(' ');
  } catch {
    return [];
  }
}

const nameOf = (pid) => `${pid}:${statOf(pid)?.startedAt ?? ''}`;
const pidOf = (name) => Number(name.split(':')[0]);

function isRunning(name) {
  const pid = pidOf(name);
  const stat = statOf(pid);
  if (stat !== undefined) return stat.state !== ENDED && name === nameOf(pid);
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

/** A process that has ended, and that its parent has not asked about. Process 1 of a container may never ask. */
const ENDED = 'Z';

/** From Linux's /proc: the state, and the start in clock ticks since boot. Undefined on other systems. */
function statOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The program's name may contain spaces and brackets; the fields after the last bracket do not.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return { state: fields[0], startedAt: fields[19] };
  } catch {
    return undefined;
  }
}

function delay(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
