/** What can be done to a running installation, and when: the same seed gives the same schedule. */

export const PROCESSES = ['serve', 'serve-2', 'orchestrator', 'sender-1', 'sender-2', 'voice'] as const;
export type ProcessName = (typeof PROCESSES)[number];
/** How the program is installed: each role in a process of its own, or `fanfare up` with its own servers. */
export const INSTALLATIONS = ['split', 'up'] as const;
export type InstallationKind = (typeof INSTALLATIONS)[number];
export const LINES = ['carrier', 'database', 'service', 'temporal'] as const;
export type LineName = (typeof LINES)[number];

export type Fault =
  /** kill -9; started again after `lastsMs`. */
  | { kind: 'kill'; target: ProcessName | 'up' | 'temporal' | 'postgres' }
  /** kill -9 of `up`, of both servers and of what watches over them, all at once. */
  | { kind: 'kill'; target: 'everything' }
  /** SIGSTOP, and SIGCONT after `lastsMs`: to everybody else it is dead, and comes back as if nothing were. */
  | { kind: 'stall'; target: ProcessName | 'up' }
  /** Every connection is cut, and none is let through for `lastsMs`. */
  | { kind: 'cut'; target: LineName }
  /** The owner pauses what runs, and resumes it after `lastsMs`. */
  | { kind: 'pause'; target: 'campaigns' }
  /** The owner cancels the oldest that runs. */
  | { kind: 'cancel'; target: 'campaign' }
  /** The owner stops a workspace, and lets it go on after `lastsMs`. */
  | { kind: 'stop'; target: 'workspace' }
  /** The carrier refuses our account: what is handed to it is answered 401. */
  | { kind: 'refuse'; target: 'account' };

export type PlannedFault = Fault & { atMs: number; lastsMs: number };

const OF_EACH: readonly Fault[] = [
  { kind: 'pause', target: 'campaigns' },
  { kind: 'cancel', target: 'campaign' },
  { kind: 'stop', target: 'workspace' },
  { kind: 'refuse', target: 'account' },
];

const KINDS: Record<InstallationKind, readonly Fault[]> = {
  split: [
    ...PROCESSES.map((target) => ({ kind: 'kill', target }) as const),
    { kind: 'kill', target: 'temporal' },
    { kind: 'kill', target: 'postgres' },
    ...PROCESSES.map((target) => ({ kind: 'stall', target }) as const),
    ...LINES.map((target) => ({ kind: 'cut', target }) as const),
    ...OF_EACH,
  ],
  up: [
    { kind: 'kill', target: 'up' },
    { kind: 'kill', target: 'temporal' },
    { kind: 'kill', target: 'postgres' },
    { kind: 'kill', target: 'everything' },
    { kind: 'stall', target: 'up' },
    { kind: 'cut', target: 'carrier' },
    ...OF_EACH,
  ],
};

/** The first fault meets campaigns under way, and the last one is over well before the end. */
const FIRST_MS = 3_000;

/**
 * Faults for `durationMs`, one after the other with little between, every kind once before any comes again.
 * `only` is one kind and target, such as `kill serve`. A stall outlasts the heartbeat timeout of an activity now and then, which makes it a zombie.
 */
export function planFaults(
  seed: number,
  durationMs: number,
  { only, installation = 'split' }: { only?: string | undefined; installation?: InstallationKind } = {},
): PlannedFault[] {
  const kinds = KINDS[installation].filter(({ kind, target }) => !only || only === `${kind} ${target}`);
  if (!kinds.length) throw new RangeError(`There is no fault "${only}"`);
  const random = randomOf(seed);
  const between = (low: number, high: number): number => Math.round(low + random() * (high - low));
  const planned: PlannedFault[] = [];
  let deck: Fault[] = [];
  for (let atMs = FIRST_MS; ; ) {
    if (!deck.length) deck = shuffled(kinds, random);
    const fault = deck.pop() as Fault;
    const lastsMs = fault.kind === 'stall' ? between(1_000, 14_000) : between(300, 3_000);
    if (atMs + lastsMs > durationMs) return planned;
    planned.push({ ...fault, atMs, lastsMs });
    // Some faults overlap, so that a takeover is itself taken over.
    atMs += random() < 0.3 ? between(100, 800) : lastsMs + between(500, 4_000);
  }
}

/** Mulberry32: small, and good enough to shuffle with. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

function shuffled<T>(items: readonly T[], random: () => number): T[] {
  const left = [...items];
  const result: T[] = [];
  while (left.length) result.push(...left.splice(Math.floor(random() * left.length), 1));
  return result;
}
