import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';

const POLL_MS = 200;
const SETTLE_MS = 50;

/**
 * One preparation at a time in a checkout. The lock names the processes at work, itself and what it
 * runs; it is void when none of them lives, so that a killed one stops nobody.
 */
export async function lockCheckout(file) {
  const mine = [process.pid];
  let told = false;
  for (;;) {
    if (create(file, mine)) {
      // Two that find the same void lock may remove each other's fresh one; the last to write has it.
      await delay(SETTLE_MS);
      if (holders(file)[0] === process.pid) break;
      continue;
    }
    const others = holders(file);
    if (!others.some(isRunning)) {
      rmSync(file, { force: true });
      continue;
    }
    if (!told) process.stderr.write(`Waiting for process ${others[0]}, which prepares this checkout\n`);
    told = true;
    await delay(POLL_MS);
  }
  return {
    addProcess(pid) {
      if (!pid) return;
      mine.push(pid);
      writeFileSync(`${file}.new`, mine.join(' '));
      renameSync(`${file}.new`, file);
    },
    release() {
      rmSync(file, { force: true });
    },
  };
}

function create(file, pids) {
  try {
    writeFileSync(file, pids.join(' '), { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function holders(file) {
  try {
    return readFileSync(file, 'utf8').split(' ').map(Number);
  } catch {
    return [];
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}

function delay(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
