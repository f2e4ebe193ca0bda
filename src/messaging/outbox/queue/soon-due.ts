import type { Tagged } from './outbox-count';

/**
 * How many messages fall due in each second of the next minute, so that the outbox's count has them from their time on. They
 * count from the beginning of their second, because one that left before it counted would seem to make room.
 */
export class SoonDue {
  private readonly seconds = new Map<number, Map<string, Falling>>();
  private nextMs = Number.POSITIVE_INFINITY;

  /** Less than none: canceled, or expired, before its time. */
  add(dueMs: number, { workspaceId, of, count }: Falling): void {
    const second = Math.floor(dueMs / 1_000) * 1_000;
    const inSecond = this.seconds.get(second) ?? new Map<string, Falling>();
    this.seconds.set(second, inSecond);
    const key = `${workspaceId} ${of.class} ${of.channel} ${of.campaign ?? ''}`;
    inSecond.set(key, { workspaceId, of, count: count + (inSecond.get(key)?.count ?? 0) });
    this.nextMs = Math.min(this.nextMs, second);
  }

  /** Those whose second has begun, once. */
  take(nowMs: number): readonly Falling[] {
    if (nowMs < this.nextMs) return NONE;
    const fallen: Falling[] = [];
    this.nextMs = Number.POSITIVE_INFINITY;
    for (const [second, inSecond] of this.seconds) {
      if (second > nowMs) this.nextMs = Math.min(this.nextMs, second);
      else {
        fallen.push(...inSecond.values());
        this.seconds.delete(second);
      }
    }
    return fallen;
  }
}

const NONE: readonly Falling[] = [];

interface Falling {
  workspaceId: string;
  of: Tagged;
  count: number;
}
