import { LIMITS } from '../../domain/limits';
import type { Endpoint } from './fan-out';
import { inTurns } from './group-turns';

/**
 * `prompt`: endpoints that answer promptly, or about which nothing is known yet. `slow`: endpoints that are
 * slow or fail.
 */
type Pool = 'prompt' | 'slow';

interface State {
  workspaceId: string;
  /** When each running request began. */
  underWay: Set<{ startedMs: number }>;
  /** How long the last request took; undefined before the first has ended. */
  tookMs: number | undefined;
}

interface Place {
  pool: Pool;
  most: number;
}

/**
 * How many requests each endpoint may have at once: each has its own room, in one of two pools. An endpoint
 * whose answer is late moves to the slow pool while its request still runs, so that it takes room only from
 * other slow ones. One workspace gets at most a quarter of a pool. Prompt endpoints thus find room however many
 * slow ones another workspace has, and the total of connections stays limited.
 */
export class EndpointRooms {
  private readonly states = new Map<string, State>();

  get size(): number {
    let count = 0;
    for (const { underWay } of this.states.values()) count += underWay.size;
    return count;
  }

  /** A request to the endpoint begins. Call the returned function when it has ended. */
  enter({ id, workspaceId }: Pick<Endpoint, 'id' | 'workspaceId'>): () => void {
    const state = this.states.get(id) ?? { workspaceId, underWay: new Set(), tookMs: undefined };
    this.states.set(id, state);
    const request = { startedMs: performance.now() };
    state.underWay.add(request);
    return () => {
      state.underWay.delete(request);
      state.tookMs = performance.now() - request.startedMs;
    };
  }

  /** How many requests each of these may begin now: one more for each in turn, as long as there is room. */
  give(wanting: readonly Endpoint[]): { webhookId: string; room: number }[] {
    const left = this.countLeft();
    const given = new Map<Endpoint, number>();
    const candidates = inTurns(wanting, {
      groupOf: ({ workspaceId }) => workspaceId,
      costOf: ({ id }) => this.states.get(id)?.underWay.size ?? 0,
    }).map((endpoint) => ({ endpoint, ...this.placeOf(endpoint) }));
    for (let gave = true; gave; ) {
      gave = false;
      for (const { endpoint, pool, most } of candidates) {
        const has = given.get(endpoint) ?? 0;
        const busy = (this.states.get(endpoint.id)?.underWay.size ?? 0) + has;
        if (busy >= most || !left.take(pool, endpoint.workspaceId)) continue;
        given.set(endpoint, has + 1);
        gave = true;
      }
    }
    return [...given].map(([{ id }, room]) => ({ webhookId: id, room }));
  }

  /** Deletes the state of endpoints that no longer exist, so that memory does not grow. */
  forgetOthers(endpoints: readonly Endpoint[]): void {
    const known = new Set(endpoints.map(({ id }) => id));
    for (const [id, { underWay }] of this.states) {
      if (!known.has(id) && underWay.size === 0) this.states.delete(id);
    }
  }

  private placeOf({ id, failingSince }: Endpoint): Place {
    if (failingSince !== null && failingSince.getTime() <= Date.now() - LIMITS.webhookFailingMs) {
      return { pool: 'slow', most: LIMITS.webhookInFlightFailing };
    }
    const state = this.states.get(id);
    if (state && isSlow(state)) return { pool: 'slow', most: LIMITS.webhookInFlightSlow };
    const isKnown = state?.tookMs !== undefined;
    return { pool: 'prompt', most: isKnown ? LIMITS.webhookInFlight : LIMITS.webhookInFlightNew };
  }

  private countLeft() {
    const used = { prompt: 0, slow: 0 };
    const ofWorkspace = new Map<string, number>();
    const change = (pool: Pool, workspaceId: string, count: number) => {
      used[pool] += count;
      const key = `${pool} ${workspaceId}`;
      ofWorkspace.set(key, (ofWorkspace.get(key) ?? 0) + count);
    };
    for (const state of this.states.values()) {
      change(isSlow(state) ? 'slow' : 'prompt', state.workspaceId, state.underWay.size);
    }
    return {
      take(pool: Pool, workspaceId: string): boolean {
        const all = used.prompt + used.slow;
        const own = ofWorkspace.get(`${pool} ${workspaceId}`) ?? 0;
        if (all >= LIMITS.webhookInFlightAll || used[pool] >= LIMITS.webhookInFlightPool) return false;
        if (own >= LIMITS.webhookInFlightWorkspace) return false;
        change(pool, workspaceId, 1);
        return true;
      },
    };
  }
}

/** The last answer was late, or a running request is late already. */
function isSlow({ underWay, tookMs }: State): boolean {
  if (underWay.size === 0) return (tookMs ?? 0) > LIMITS.webhookSlowMs;
  const lateMs = performance.now() - LIMITS.webhookSlowMs;
  for (const { startedMs } of underWay) if (startedMs < lateMs) return true;
  return (tookMs ?? 0) > LIMITS.webhookSlowMs;
}
