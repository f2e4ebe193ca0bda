import { setTimeout as delay } from 'node:timers/promises';
import type { Backend, Press } from './campaigns';
import type { Finding } from './invariants';
import type { Watch } from './watch';

const WAIT_MS = { low: 100, high: 3_000 };
/** What a control may answer: that it is done, that it is not for this phase or is held by its key, that a part is away. */
const FAIR: ReadonlySet<number> = new Set([200, 409, 429, 502, 503, 504]);

export interface RandomControls {
  /** Presses no more; returns how often each status was answered, and the answers that no control may give. */
  stop(): Promise<{ answers: Record<string, number>; findings: Finding[] }>;
}

/**
 * An operator who presses what campaigns under way have, at any time and now and then two things at once: pauses, resumes,
 * sends again, lets the next stage go and changes the pace. Each pause is followed by a resume.
 */
export function pressControls(backend: Backend, watch: Watch, random: () => number): RandomControls {
  const answers: Record<string, number> = {};
  const findings: Finding[] = [];
  const ended = new AbortController();
  const pick = <T>(some: readonly T[]): T => some[Math.floor(random() * some.length)] as T;

  async function press(id: string, one: Press): Promise<void> {
    const status = await backend.press(id, one);
    const answer = String(status ?? 'none');
    answers[answer] = (answers[answer] ?? 0) + 1;
    if (status !== undefined && !FAIR.has(status))
      findings.push({ invariant: 'a control is answered', found: `${id} ${one.action}: ${status}` });
  }

  const work = (async () => {
    for (;;) {
      const waitMs = WAIT_MS.low + random() * (WAIT_MS.high - WAIT_MS.low);
      if (await delay(waitMs, false, { signal: ended.signal }).catch(() => true)) return;
      const id = pick(watch.live());
      if (id === undefined) continue;
      const presses = random() < 0.3 ? [pick(PRESSES), pick(PRESSES)] : [pick(PRESSES)];
      await Promise.all(presses.map((one) => press(id, one)));
      if (!presses.some(({ action }) => action === 'pause')) continue;
      await delay(waitMs);
      await backend.act(id, 'resume');
    }
  })();

  return {
    async stop() {
      ended.abort();
      await work;
      return { answers, findings };
    },
  };
}

const PRESSES: readonly Press[] = [
  { action: 'pause' },
  { action: 'pause' },
  { action: 'resume' },
  { action: 'retry-failed', body: {} },
  { action: 'release', body: { stages: 1 } },
  { action: 'release', body: { stages: 'all' } },
  { action: 'pace', body: { delivery: { ratePerSecond: 100 } } },
  { action: 'pace', body: { delivery: { ratePerSecond: null } } },
];
