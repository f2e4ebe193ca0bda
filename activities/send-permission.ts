import type { Kysely } from 'kysely';
import type { CampaignTables } from '../src/campaigns/model/tables';
import { readCounts } from '../src/campaigns/runs/ledger-counts';
import { takePermits } from '../src/campaigns/runs/rate-limit';
import type { RunPlan } from '../src/campaigns/runs/runs';
import { readPaceTogether } from '../src/campaigns/runs/shared-pace';
import type { Control } from '../src/domain/campaign';
import type { Channel } from '../src/domain/channel';
import { LIMITS } from '../src/domain/limits';
import type { Gateway, Lot } from '../src/gateway/gateway';
import { pause, stopIfCancelled } from './heartbeat';

export type RoomOutcome =
  | { kind: 'lot'; lot: Lot | undefined }
  | { kind: 'backoff'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Waits until the service's outbox has room for some of `most` messages, so that it refuses none. The outbox
 * may stay full as long as a carrier is down; then the page gives its worker back. The run's control is read
 * during the wait.
 */
export async function awaitRoom(
  db: Kysely<CampaignTables>,
  room: Gateway['room'],
  { run, channel, most }: { run: RunPlan; channel: Channel; most: number },
): Promise<RoomOutcome> {
  const over = new AbortController();
  const lot = room.take(`${run.options.class ?? 'marketing'}_${channel}`, {
    campaign: run.campaignId,
    run: run.runId,
    most,
    countInOutbox: async () => (await readCounts(db, run.runId))[channel]?.accepted ?? 0,
    signal: over.signal,
  });
  let taken: { lot: Lot | undefined } | undefined;
  void lot.then((one) => {
    taken = { lot: one };
  });
  await Promise.resolve();
  const until = performance.now() + LIMITS.outboxRoomWaitMs;
  let control: Control = 'run';
  try {
    while (!taken && control === 'run' && performance.now() < until) {
      stopIfCancelled();
      await Promise.race([lot, pause(LIMITS.paceLookMs)]);
      if (!taken) control = (await readPaceTogether(db, run.runId)).control;
    }
  } catch (error) {
    over.abort();
    (await lot)?.end();
    throw error;
  }
  over.abort();
  const given = await lot;
  if (control !== 'run') {
    given?.end();
    return { kind: 'stopped', control };
  }
  return given ? { kind: 'lot', lot: given } : { kind: 'backoff', waitMs: room.restMs() };
}

/** The outbox room reserved for the chunk that is being offered. */
export interface CurrentLot {
  use(lot: Lot | undefined): void;
  end(): void;
}

export function currentLot(): CurrentLot {
  let current: Lot | undefined;
  return {
    use(lot) {
      current = lot;
    },
    end() {
      current?.end();
      current = undefined;
    },
  };
}

export type Permission =
  | { kind: 'granted'; count: number }
  /** The rate is so low that a page worker should not be kept for the wait. */
  | { kind: 'backoff'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Waits until the run's rate allows some of `most` recipients, and at least `least`. It reads the run's control
 * during the wait, because a permit from before a pause must not send anything after it.
 */
export async function awaitRateLimit(
  db: Kysely<CampaignTables>,
  runId: string,
  demand: { least: number; most: number },
): Promise<Permission> {
  for (;;) {
    stopIfCancelled();
    const { granted, waitMs } = await takePermits(db, runId, demand);
    if (granted === 0 && waitMs > LIMITS.paceWaitMs) return { kind: 'backoff', waitMs };
    // Without a grant, ask for permits again after each look, because the rate may have changed.
    const until = performance.now() + (granted === 0 ? Math.min(waitMs, LIMITS.paceLookMs) : waitMs);
    for (let left = waitMs; left > 0; left = until - performance.now()) {
      await pause(Math.max(1, Math.min(left, LIMITS.paceLookMs)));
      const { control } = await readPaceTogether(db, runId);
      if (control !== 'run') return { kind: 'stopped', control };
    }
    if (granted > 0) return { kind: 'granted', count: granted };
  }
}
