import { setTimeout as delay } from 'node:timers/promises';
import type { Backend, Reading } from './campaigns';

/** For what is under way when the faults end. */
const FINISH_MS = 180_000;
const LOOK_MS = 250;

export interface Watched {
  id: string;
  reading: Reading | undefined;
  wasCanceled: boolean;
}

export interface Watch {
  /** Those under way. */
  live(): readonly string[];
  act(action: 'pause' | 'resume'): Promise<void>;
  /** Cancels the one that has been under way for longest. */
  cancelOldest(): Promise<void>;
  /** How long it takes until one more recipient is settled; gives up after a while. */
  nextProgress(): Promise<number>;
  /** Starts no more; resolves when all have ended, or will not. */
  finished(): Promise<Watched[]>;
}

/** Keeps some campaigns under way, and looks how far they are. */
export function watchCampaigns(backend: Backend, atOnce: number): Watch {
  const readings = new Map<string, Reading | undefined>();
  const live = new Set<string>();
  const canceled = new Set<string>();
  let progressAt = Date.now();
  let endsAt = Number.POSITIVE_INFINITY;
  /** A request whose process was killed has its key for up to a minute (api.md 19), and the others go on meanwhile. */
  let starting: Promise<void> | undefined;

  async function start(): Promise<void> {
    live.add(await backend.start());
    starting = undefined;
  }

  const work = (async () => {
    while (Date.now() < endsAt || ((live.size || starting) && Date.now() < endsAt + FINISH_MS)) {
      if (Date.now() < endsAt && live.size < atOnce && !starting) {
        starting = start();
        starting.catch(() => undefined);
      }
      // One that was refused for good ends all of it.
      await (starting ? Promise.race([starting, delay(LOOK_MS)]) : delay(LOOK_MS));
      for (const id of live) {
        const reading = await backend.look(id);
        if (!reading) continue;
        if (settled(reading) !== settled(readings.get(id))) progressAt = Date.now();
        readings.set(id, reading);
        // One that was paused, and whose resumption was not answered.
        if (Date.now() > endsAt && reading.phase === 'paused') await backend.act(id, 'resume');
        if (['completed', 'failed', 'canceled'].includes(reading.phase)) live.delete(id);
      }
    }
  })();

  return {
    live: () => [...live],
    async act(action) {
      for (const id of [...live]) await backend.act(id, action);
    },
    async cancelOldest() {
      const [id] = live;
      if (id === undefined) return;
      canceled.add(id);
      await backend.act(id, 'cancel');
    },
    async nextProgress() {
      const since = Date.now();
      while (progressAt < since && Date.now() < since + FINISH_MS) await delay(50);
      if (progressAt < since)
        process.stderr.write(`        none of ${JSON.stringify([...live].map((id) => readings.get(id)))}\n`);
      return (progressAt < since ? Date.now() : progressAt) - since;
    },
    async finished() {
      endsAt = Date.now();
      await work;
      const quiet = await untilQuiet(backend, [...readings.keys()]);
      return quiet.map((one) => ({ ...one, wasCanceled: canceled.has(one.id) }));
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
    const isQuiet =
      now.every(({ reading }) => reading && hasEnded(reading)) &&
      JSON.stringify(now) === JSON.stringify(before);
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

/** One that was sent again in its last moment is `running` once more, and one that is canceled is still counted. */
const hasEnded = ({ phase, finishedAt }: Reading): boolean =>
  phase === 'completed' || phase === 'failed' || (phase === 'canceled' && finishedAt !== null);
