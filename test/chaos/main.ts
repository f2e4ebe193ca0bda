import { setTimeout as delay } from 'node:timers/promises';
import { limitSenders, makeAccounts } from './accounts';
import { type Backend, KINDS, openBackend } from './campaigns';
import { type Installation, startInstallation } from './installation';
import { checkInvariants } from './invariants';
import { pressControls } from './random-controls';
import { INSTALLATIONS, type InstallationKind, type PlannedFault, planFaults, randomOf } from './schedule';
import { openSingles } from './singles';
import { startUp } from './up-installation';
import { type Watch, watchCampaigns } from './watch';

/**
 * `npm run chaos -- --seed N [--minutes M]`: campaigns on a real installation whose parts are killed, stalled
 * and cut off from each other by a schedule that the seed gives, and then whether everybody is accounted for.
 * Prints the schedule, one line a fault, and a line of JSON; ends with 1 when an invariant does not hold.
 * `--only 'kill serve'` keeps to one kind of fault. `--break claim` breaks the product on purpose, to see that
 * the checks have teeth. `--installation up` does it to `fanfare up`, which runs its own PostgreSQL and Temporal.
 * `--campaigns staged` keeps to campaigns in stages, `--campaigns calls` to calls, `--campaigns varied` to those that are sent again, have a
 * pace or bring their recipients, and `--at-once N` has so many under way. `--accounts two` sends by two accounts of a channel in turn, and
 * `--senders limited` at a rate of each sender's own. With `--controls random` an operator pauses, resumes, sends again, lets stages go and changes
 * the pace meanwhile, also two things at once.
 */
const CONTACTS = 1_500;
/** Campaigns under way at the same time. */
const AT_ONCE = 2;
/** Faults come thick for so long, and then everything is whole until there is progress. */
const ROUND_MS = 30_000;

async function main(): Promise<void> {
  const seed = Number(option('--seed') ?? Date.now() % 1_000_000);
  const durationMs = Number(option('--minutes') ?? 2) * 60_000;
  const contacts = Number(option('--contacts') ?? CONTACTS);
  const kind = installationKind();
  const kinds = KINDS[campaignKinds()];
  const atOnce = Number(option('--at-once') ?? AT_ONCE);
  const faults = planFaults(seed, durationMs, { only: option('--only'), installation: kind });
  note(`seed ${seed}, ${faults.length} faults in ${durationMs / 1_000} s`);
  const installation =
    kind === 'up' ? await startUp() : await startInstallation({ breakClaim: option('--break') === 'claim' });
  try {
    if (option('--accounts') === 'two') await makeAccounts(installation);
    if (option('--senders') === 'limited') await limitSenders(installation);
    const backend = await openBackend(installation, contacts, kinds);
    const singles = await openSingles(installation.baseUrl, installation.workspaces);
    const startedAt = Date.now();
    const watch = watchCampaigns(backend, atOnce);
    const controls =
      option('--controls') === 'random' ? pressControls(backend, watch, randomOf(seed)) : undefined;
    const resumedMs = await runFaults({ installation, backend, watch }, faults);
    const pressed = await controls?.stop();
    const campaigns = await watch.finished();
    const messages = await singles.finished();
    const { findings: broken, ...seen } = await checkInvariants({
      campaigns,
      singles: messages,
      backend,
      carrierRecord: installation.carrierRecord,
      resumedMs,
    });
    const findings = [...broken, ...(pressed?.findings ?? [])];
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
      canceled: campaigns.filter(({ wasCanceled }) => wasCanceled).length,
      singles: messages.length,
      ...seen,
      longestResumeMs,
      exits,
      ...(pressed && { pressed: pressed.answers }),
      broken: findings.length,
    };
    process.stdout.write(`${JSON.stringify(result)}\n`);
    process.exitCode = findings.length ? 1 : 0;
  } finally {
    await installation.stop();
  }
}

interface Under {
  installation: Installation;
  backend: Backend;
  watch: Watch;
}

/**
 * Does what is planned, a round after the other. After each round everything is whole again, and the next one
 * begins when somebody more was sent to; answers how long that took.
 */
async function runFaults(under: Under, faults: readonly PlannedFault[]): Promise<number[]> {
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
        await begin(under, fault);
        await delay(lastsMs);
        await end(under, fault);
      }),
    );
    resumedMs.push(await under.watch.nextProgress());
    note(`        ${resumedMs.at(-1)} ms until progress`);
  }
  return resumedMs;
}

/** What the owner does is asked of the service; the rest is done to it. */
async function begin({ installation, backend, watch }: Under, fault: PlannedFault): Promise<void> {
  if (fault.kind === 'pause') await watch.act('pause');
  else if (fault.kind === 'cancel') await watch.cancelOldest();
  else if (fault.kind === 'stop') await backend.stop();
  else await installation.begin(fault, fault.lastsMs);
}

async function end({ installation, backend, watch }: Under, fault: PlannedFault): Promise<void> {
  if (fault.kind === 'pause') await watch.act('resume');
  else if (fault.kind === 'stop') await backend.goOn();
  else if (fault.kind !== 'cancel') installation.end(fault);
}

function installationKind(): InstallationKind {
  const wanted = option('--installation') ?? 'split';
  const kind = INSTALLATIONS.find((one) => one === wanted);
  if (!kind) throw new RangeError(`--installation is one of ${INSTALLATIONS.join(', ')}`);
  return kind;
}

function campaignKinds(): keyof typeof KINDS {
  const wanted = option('--campaigns') ?? 'all';
  const kind = (Object.keys(KINDS) as (keyof typeof KINDS)[]).find((one) => one === wanted);
  if (!kind) throw new RangeError(`--campaigns is one of ${Object.keys(KINDS).join(', ')}`);
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
