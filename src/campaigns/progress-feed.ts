import { createHash } from 'node:crypto';
import { isLive, type Phase, type RunPhase } from '../domain/campaign';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { Campaigns } from './campaigns';

type Detail = Awaited<ReturnType<Campaigns['read']>>;

/** A campaign's progress, as its stream of events reports it. */
export type Progress = Pick<
  Detail,
  | 'id'
  | 'status'
  | 'phase'
  | 'counts'
  | 'skipped'
  | 'ratePerSecond'
  | 'eta'
  | 'startedAt'
  | 'finishedAt'
  | 'reason'
> &
  Partial<Pick<Detail, 'release'>>;

export interface Snapshot {
  /** Equal for equal progress, in every process. */
  id: string;
  progress: Progress;
  /** The run continues: readers get an event again even if nothing has changed. */
  isRunning: boolean;
  /** No further change will come. */
  isFinal: boolean;
}

export interface ProgressReader {
  tell(snapshot: Snapshot): void;
  /** The feed stops. */
  end(): void;
}

export interface Subscription {
  first: Snapshot;
  /** Calls the reader from now on, at every tick. */
  listen(reader: ProgressReader): void;
  /** Gives the place back. A repeated call is harmless. */
  close(): void;
}

export interface ProgressFeed {
  /**
   * Takes a place for one reader, who must close it. Throws `too_many_streams`, and `not_found` for a campaign
   * that the workspace does not have.
   */
  subscribe(workspaceId: string, campaignId: string): Promise<Subscription>;
  /** Number of open places, for tests that look for leaks. */
  open(): { readers: number; campaigns: number };
  stop(): void;
}

/** A campaign with at least one reader. */
interface Topic {
  readonly workspaceId: string;
  readonly campaignId: string;
  readonly places: Set<{ reader?: ProgressReader }>;
  current: Promise<Snapshot>;
  timer: NodeJS.Timeout | undefined;
  isFailing: boolean;
}

interface ProgressFeedDeps {
  campaigns: Pick<Campaigns, 'read'>;
  log: Log;
  tickMs?: number | undefined;
}

/**
 * Progress of campaigns for any number of readers. Each campaign is read once a tick while it has a reader, and
 * not at all otherwise. A failed read is skipped; the next one comes a tick later.
 */
export function createProgressFeed(deps: ProgressFeedDeps): ProgressFeed {
  return new SharedProgressFeed(deps);
}

class SharedProgressFeed implements ProgressFeed {
  private readonly tickMs: number;
  private readonly topics = new Map<string, Topic>();
  private readonly placesOf = new Map<string, number>();
  private readers = 0;
  private isStopped = false;

  constructor(private readonly deps: ProgressFeedDeps) {
    this.tickMs = deps.tickMs ?? LIMITS.progressTickMs;
  }

  readonly subscribe: ProgressFeed['subscribe'] = async (workspaceId, campaignId) => {
    this.takePlace(workspaceId);
    const topic = this.topicOf(workspaceId, campaignId);
    const place: { reader?: ProgressReader } = {};
    topic.places.add(place);
    let isOpen = true;
    const close = () => {
      if (!isOpen) return;
      isOpen = false;
      this.givePlaceBack(workspaceId);
      this.leave(topic, place);
    };
    try {
      const first = await topic.current;
      return {
        first,
        listen: (reader) => {
          place.reader = reader;
          if (this.isStopped) reader.end();
        },
        close,
      };
    } catch (error) {
      close();
      throw error;
    }
  };

  readonly open: ProgressFeed['open'] = () => ({ readers: this.readers, campaigns: this.topics.size });

  readonly stop: ProgressFeed['stop'] = () => {
    this.isStopped = true;
    for (const topic of this.topics.values()) {
      clearTimeout(topic.timer);
      for (const { reader } of [...topic.places]) reader?.end();
    }
  };

  private takePlace(workspaceId: string): void {
    const own = this.placesOf.get(workspaceId) ?? 0;
    if (this.isStopped) throw new DomainError('dependency_down', 'This process is stopping; ask again');
    if (this.readers >= LIMITS.progressStreams) throw tooMany('This process', LIMITS.progressStreams);
    if (own >= LIMITS.progressStreamsPerWorkspace) {
      throw tooMany('This workspace', LIMITS.progressStreamsPerWorkspace);
    }
    this.readers++;
    this.placesOf.set(workspaceId, own + 1);
  }

  private givePlaceBack(workspaceId: string): void {
    this.readers--;
    const own = (this.placesOf.get(workspaceId) ?? 1) - 1;
    if (own > 0) this.placesOf.set(workspaceId, own);
    else this.placesOf.delete(workspaceId);
  }

  private topicOf(workspaceId: string, campaignId: string): Topic {
    const key = JSON.stringify([workspaceId, campaignId]);
    const known = this.topics.get(key);
    if (known) return known;
    const topic: Topic = {
      workspaceId,
      campaignId,
      places: new Set(),
      current: readSnapshot(this.deps.campaigns, workspaceId, campaignId),
      timer: undefined,
      isFailing: false,
    };
    this.topics.set(key, topic);
    // The subscriber gets the failure from its own await.
    topic.current.then(
      () => this.schedule(topic, this.tickMs),
      () => undefined,
    );
    return topic;
  }

  private leave(topic: Topic, place: { reader?: ProgressReader }): void {
    topic.places.delete(place);
    if (topic.places.size > 0) return;
    clearTimeout(topic.timer);
    this.topics.delete(JSON.stringify([topic.workspaceId, topic.campaignId]));
  }

  private schedule(topic: Topic, inMs: number): void {
    if (topic.places.size === 0 || this.isStopped) return;
    topic.timer = setTimeout(() => void this.tick(topic), inMs);
    topic.timer.unref();
  }

  private async tick(topic: Topic): Promise<void> {
    const startedAt = Date.now();
    try {
      const snapshot = await readSnapshot(this.deps.campaigns, topic.workspaceId, topic.campaignId);
      topic.current = Promise.resolve(snapshot);
      topic.isFailing = false;
      for (const { reader } of [...topic.places]) reader?.tell(snapshot);
    } catch (error) {
      if (!topic.isFailing)
        this.deps.log.warn(
          { err: error },
          'could not read the progress of a campaign; trying again at every tick',
        );
      topic.isFailing = true;
    }
    this.schedule(topic, Math.max(0, this.tickMs - (Date.now() - startedAt)));
  }
}

async function readSnapshot(
  campaigns: Pick<Campaigns, 'read'>,
  workspaceId: string,
  campaignId: string,
): Promise<Snapshot> {
  const detail = await campaigns.read(workspaceId, campaignId);
  const { id, status, phase, counts, skipped, startedAt, finishedAt, reason, release, runId } = detail;
  const { ratePerSecond, eta } = detail;
  // Counts of a canceled campaign follow until its run has closed its books.
  const isCanceling = phase === 'canceled' && runId !== null && finishedAt === null;
  const known = { id, status, phase, counts, skipped, startedAt, finishedAt, reason };
  const progress = { ...known, ...(release ? { release } : {}) };
  return {
    // Without the rate, because it differs with every measurement.
    id: createHash('sha256').update(JSON.stringify(progress)).digest('base64url').slice(0, 22),
    progress: { ...progress, ratePerSecond, eta },
    isRunning: isLive(phase as RunPhase) || isCanceling,
    isFinal: FINAL.has(phase) && !isCanceling,
  };
}

const FINAL: ReadonlySet<Phase> = new Set(['completed', 'canceled', 'failed']);

const tooMany = (who: string, limit: number) =>
  new DomainError(
    'too_many_streams',
    `${who} has ${limit} progress streams open, which is the limit; close some, or read the campaign itself`,
    { retryAfterSeconds: 5 },
  );
