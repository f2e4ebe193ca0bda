import { setTimeout as delay } from 'node:timers/promises';
import { type Backend, KINDS, openBackend, type Reading } from './campaigns';
import { type Installation, startInstallation } from './installation';
import { checkInvariants } from './invariants';
import { INSTALLATIONS, type InstallationKind, type PlannedFault, planFaults } from './schedule';
import { startUp } from './up-installation';

/**
 * `npm run chaos -- --seed N [--minutes M]`: campaigns on a real installation whose parts are killed, stalled
 * and cut off from each other by a schedule that the seed gives, and then whether everybody is accounted for.
 * Prints the schedule, one line a fault, and a line of JSON; ends with 1 when an invariant does not hold.
 * `--only 'kill serve'` keeps to one kind of fault. `--break claim` breaks the product on purpose, to see that
 * the checks have teeth. `--installation up` does it to `fanfare up`, which runs its own PostgreSQL and Temporal.
 * `--campaigns staged` keeps to campaigns in stages, `--at-once N` has so many under way.
 */
const CONTACTS = 1_500;
/** Campaigns under way at the same time. */
const AT_ONCE = 2;
/** Faults come thick for so long, and then everything is whole until there is progress. */
const ROUND_MS = 30_000;
/** For what is under way when the faults end. */
const FINISH_MS = 180_000;
const LOOK_MS = 250;

async function main(): Promise<void> {
  const seed = Number(option('--seed') ?? Date.now() % 1_000_000);
  const durationMs = Number(option('--minutes') ?? 2) * 60_000;
  const contacts = Number(option('--contacts') ?? CONTACTS);
  const kind = installationKind();
  const kinds = KINDS[option('--campaigns') === 'staged' ? 'staged' : 'all'];
  const atOnce = Number(option('--at-once') ?? AT_ONCE);
  const faults = planFaults(seed, durationMs, { only: option('--only'), installation: kind });
  note(`seed ${seed}, ${faults.length} faults in ${durationMs / 1_000} s`);
  const installation =
    kind === 'up' ? await startUp() : await startInstallation({ breakClaim: option('--break') === 'claim' });
  try {
    const backend = await openBackend(installation, contacts, kinds);
    const startedAt = Date.now();
    const watch = watchCampaigns(backend, atOnce);
    const resumedMs = await runFaults(installation, faults, watch);
    const campaigns = await watch.finished();
    const { findings, ...seen } = await checkInvariants({
      campaigns,
      backend,
      carrierRecord: installation.carrierRecord,
      resumedMs,
    });
    const shown = findings.slice(0, 20);
    for (const { invariant, found } of shown) note(`BROKEN: ${invariant}: ${found}`);
    const ownExits = installation.ownExits();
    for (const { name, words } of ownExits) note(`${name} ended by itself. Its last words:\n${words}`);
    const longestResumeMs = Math.max(0, ...resumedMs);
    const exits = Object.fromEntries(ownExits.map(({ name, exits }) => [name, exits]));
    const result = {
      seed,
      installation: kind,
      seconds: Math.round((Date.now() - startedAt) / 1_000),
      faults: faults.length,
      campaigns: campaigns.length,
      ...seen,
      longestResumeMs,
      exits,
      broken: findings.length,
    };
    process.stdout.write(`${JSON.stringify(result)}\n`);
    process.exitCode = findings.length ? 1 : 0;
    await backend.close();
  } finally {
    await installation.stop();
  }
}

/**
 * Does what is planned, a round after the other. After each round everything is whole again, and the next one
 * begins when somebody more was sent to; answers how long that took.
 */
async function runFaults(
  installation: Installation,
  faults: readonly PlannedFault[],
  watch: Watch,
): Promise<number[]> {
  const resumedMs: number[] = [];
  const last = Math.max(0, ...faults.map(({ atMs }) => atMs));
  for (let begins = 0; begins <= last; begins += ROUND_MS) {
    const round = faults.filter(({ atMs }) => atMs >= begins && atMs < begins + ROUND_MS);
    const startedAt = Date.now();
    await Promise.all(
      round.map(async (fault) => {
        const { atMs, lastsMs } = fault;
        await delay(Math.max(0, startedAt + atMs - begins - Date.now()));
        note(`${(atMs / 1_000).toFixed(1).padStart(6)} s  ${fault.kind} ${fault.target} for ${lastsMs} ms`);
        if (fault.kind === 'pause') await watch.act('pause');
        else await installation.begin(fault, lastsMs);
        await delay(lastsMs);
        if (fault.kind === 'pause') await watch.act('resume');
        else installation.end(fault);
      }),
    );
    resumedMs.push(await watch.nextProgress());
    note(`        ${resumedMs.at(-1)} ms until progress`);
  }
  return resumedMs;
}

interface Watch {
  act(action: 'pause' | 'resume'): Promise<void>;
  /** How long it takes until one more recipient is settled; gives up after a while. */
  nextProgress(): Promise<number>;
  /** Starts no more; resolves when all have ended, or will not. */
  finished(): Promise<{ id: string; reading: Reading | undefined }[]>;
}

/** Keeps some campaigns under way, and looks how far they are. */
function watchCampaigns(backend: Backend, atOnce: number): Watch {
  const readings = new Map<string, Reading | undefined>();
  const live = new Set<string>();
  let progressAt = Date.now();
  let endsAt = Number.POSITIVE_INFINITY;

  const work = (async () => {
    while (Date.now() < endsAt || (live.size && Date.now() < endsAt + FINISH_MS)) {
      if (Date.now() < endsAt && live.size < atOnce) live.add(await backend.start());
      for (const id of live) {
        const reading = await backend.look(id);
        if (!reading) continue;
        if (settled(reading) !== settled(readings.get(id))) progressAt = Date.now();
        readings.set(id, reading);
        // One that was paused when nobody could be told to resume it.
        if (Date.now() > endsAt && reading.phase === 'paused') await backend.act(id, 'resume');
        if (['completed', 'failed', 'canceled'].includes(reading.phase)) live.delete(id);
      }
      await delay(LOOK_MS);
    }
  })();

  return {
    async act(action) {
      for (const id of [...live]) await backend.act(id, action);
    },
    async nextProgress() {
      const since = Date.now();
      while (progressAt < since && Date.now() < since + FINISH_MS) await delay(50);
      if (progressAt < since)
        note(`        none of ${JSON.stringify([...live].map((id) => readings.get(id)))}`);
      return (progressAt < since ? Date.now() : progressAt) - since;
    },
    async finished() {
      endsAt = Date.now();
      await work;
      return untilQuiet(backend, [...readings.keys()]);
    },
  };
}

/** Receipts move counts after the end: the figures are compared once they stand still. */
async function untilQuiet(
  backend: Backend,
  ids: string[],
): Promise<{ id: string; reading: Reading | undefined }[]> {
  const look = () => Promise.all(ids.map(async (id) => ({ id, reading: await backend.look(id) })));
  for (let [before, tries] = [await look(), 0]; ; tries++) {
    await delay(2_000);
    const now = await look();
    const isQuiet = now.every(({ reading }) => reading) && JSON.stringify(now) === JSON.stringify(before);
    if (isQuiet || tries > 60) return now;
    before = now;
  }
}

function settled(reading: Reading | undefined): number {
  let sum = 0;
  for (const { total = 0, pending = 0, waiting = 0, sending = 0 } of Object.values(reading?.counts ?? {})) {
    sum += total - pending - waiting - sending;
  }
  return sum;
}

function installationKind(): InstallationKind {
  const wanted = option('--installation') ?? 'split';
  const kind = INSTALLATIONS.find((one) => one === wanted);
  if (!kind) throw new RangeError(`--installation is one of ${INSTALLATIONS.join(', ')}`);
  return kind;
}

function option(name: string): string | undefined {
  const at = process.argv.indexOf(name);
  return at < 0 ? undefined : process.argv[at + 1];
}

function note(text: string): void {
  process.stderr.write(`${text}\n`);
}

// What it has started ends with it (supervised.ts), also when it is told to end.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
