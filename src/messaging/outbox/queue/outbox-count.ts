import { type Kysely, sql } from 'kysely';
import type { Message } from '../../../contracts/send';
import { CHANNELS, type Channel } from '../../../domain/channel';
import { LIMITS } from '../../../domain/limits';
import { allDue, sweepDueGroups } from '../../model/due-groups';
import type { MessagingTables } from '../../model/tables';
import { SoonDue } from './soon-due';

/**
 * How many due messages of each workspace, class and channel are not yet with a provider, for the bound on the outbox. A
 * running count, because counting rows for every request would cost more than the request. It is corrected from the
 * table every few seconds, because other processes accept and hand over too: while this one changes it or is asked for it, so
 * that one that only refuses learns that there is room again. What falls due within the next minute is read with it
 * (soon-due.ts): scheduled messages that left before they were counted would seem to make room for others. The correction reads rows that were
 * handed over since the last vacuum, so it runs less often when it takes long. What has left the groups of this process's
 * partitions is swept before.
 *
 * Each channel has the whole bound, because what waits for a carrier that takes nothing must not keep other carriers' messages out. A
 * paused campaign leaves up to three quarters of that room full, for days perhaps. So the messages of a hold that
 * stands `aside` (holds.ts) count for that tag alone, and once released still do until they have left: campaigns wait for them,
 * and nothing else is refused because of them. What this process knows of them is as old as its last correction.
 */
export interface OutboxCount {
  /** How many messages like this one may still be accepted. */
  room(workspaceId: string, of: Tagged): number;
  /** Undelivered due messages of each class that are not held aside, beside their bounds. */
  depth(workspaceId: string): Record<MessageClass, ClassDepth>;
  /** With a time to come, the messages count from then on. */
  change(workspaceId: string, of: Tagged, by: number, dueMs?: number): void;
  /** What was counted before it was written is written by now, or will not be: a count of a moment in between is without it. */
  settled(): void;
  /** More is held aside: it is counted soon. */
  held(): void;
  /** What stood aside counts at once for those who ask for the depth. */
  released(workspaceId: string, campaign: string): void;
  start(): Promise<void>;
  stop(): void;
}

export type MessageClass = Message['class'];

export interface Countable {
  readonly class: MessageClass;
  readonly channel: Channel;
}

export interface Tagged extends Countable {
  readonly campaign?: string | undefined;
}

export interface ClassDepth {
  /** All of the class, and those of each channel. */
  undelivered: number;
  channels: Record<Channel, number>;
  /** Of each channel. */
  bound: number;
}

const RECOUNT_INTERVAL_MS = 5_000;
const RECOUNT_SHARE = 0.01;
/** After a pause. Hundreds of campaigns may be paused one after the other, with hundreds of thousands of rows to count. */
const RECOUNT_SOON_MS = 500;
const RECOUNT_SOON_SHARE = 0.1;
/** A count that took long because the process was frozen, or the database away, is corrected soon all the same. */
const RECOUNT_INTERVAL_MAX_MS = 30_000;
/** What falls due in this time is read with a count, so that the next one comes before the rest does. */
const AHEAD_MS = 2 * RECOUNT_INTERVAL_MAX_MS;

export const OUTBOX_BOUNDS: Record<MessageClass, number> = {
  marketing: LIMITS.outboxMessages,
  transactional: LIMITS.outboxTransactionalMessages,
};

interface Options {
  bounds?: Record<MessageClass, number>;
  /** Those of this process. */
  partitions?: () => Iterable<{ id: string }>;
}

export function createOutboxCount(db: Kysely<MessagingTables>, options: Options = {}): OutboxCount {
  return new RunningCount(db, options);
}

class RunningCount implements OutboxCount {
  private counts: Counts = new Map();
  private soon = new SoonDue();
  /** What falls due until then is known. */
  private aheadUntilMs = 0;
  /** Something falls due after it. */
  private hasMore = false;
  private changed = false;
  /** What has changed since the moment of which a count under way is. */
  private meanwhile: Change[] | undefined;
  private timer: NodeJS.Timeout | undefined;
  private running = false;
  private isCounting = false;
  private isWanted = false;
  private tookMs = 0;
  private readonly bounds: Record<MessageClass, number>;

  constructor(
    private readonly db: Kysely<MessagingTables>,
    private readonly options: Options,
  ) {
    this.bounds = options.bounds ?? OUTBOX_BOUNDS;
  }

  room(workspaceId: string, of: Tagged): number {
    const count = this.countOf(workspaceId, of);
    const { undelivered, asideAll } = count;
    const own = asideOf(count, of.campaign)?.count ?? 0;
    return Math.max(0, this.bounds[of.class] - Math.max(0, undelivered - bounded(asideAll - own)));
  }

  readonly depth: OutboxCount['depth'] = (workspaceId) => ({
    marketing: this.depthOf(workspaceId, 'marketing'),
    transactional: this.depthOf(workspaceId, 'transactional'),
  });

  change(workspaceId: string, of: Tagged, by: number, dueMs = 0): void {
    this.changed = true;
    const change = { workspaceId, of, by, dueMs };
    this.meanwhile?.push(change);
    this.apply(change);
  }

  settled(): void {
    this.changed = true;
  }

  private apply({ workspaceId, of, by, dueMs }: Change): void {
    if (dueMs <= Date.now()) this.add(workspaceId, of, by);
    else if (dueMs <= this.aheadUntilMs) this.soon.add(dueMs, { workspaceId, of, count: by });
  }

  private add(workspaceId: string, of: Tagged, by: number): void {
    this.addFallen();
    const known = recordedIn(this.counts, workspaceId, of);
    known.undelivered = Math.max(0, known.undelivered + by);
    const aside = asideOf(known, of.campaign);
    if (aside) changeAside(known, aside, by);
  }

  released(workspaceId: string, campaign: string): void {
    const known = this.counts.get(workspaceId);
    for (const count of known ? countsOf(known) : []) {
      const aside = count.aside.get(campaign);
      if (!aside?.isHeld) continue;
      aside.isHeld = false;
      count.asideHeld -= aside.count;
    }
  }

  held(): void {
    this.changed = true;
    if (!this.running || this.isWanted) return;
    this.isWanted = true;
    if (this.isCounting) return;
    clearTimeout(this.timer);
    this.recountAfter(this.soonMs());
  }

  async start(): Promise<void> {
    this.running = true;
    await this.recount();
    this.recountAfter(RECOUNT_INTERVAL_MS);
  }

  stop(): void {
    this.running = false;
    clearTimeout(this.timer);
  }

  /** Those that have fallen due meanwhile. */
  private addFallen(): void {
    for (const { workspaceId, of, count } of this.soon.take(Date.now())) this.add(workspaceId, of, count);
  }

  private countOf(workspaceId: string, of: Countable): Readonly<Count> {
    this.addFallen();
    const count = this.counts.get(workspaceId)?.[of.class][of.channel] ?? NOTHING;
    // Another process may have handed over or canceled these since they were counted.
    if (count.undelivered > 0) this.changed = true;
    return count;
  }

  private depthOf(workspaceId: string, kind: MessageClass): ClassDepth {
    const channels = { email: 0, sms: 0, voice: 0 };
    let undelivered = 0;
    for (const channel of CHANNELS) {
      const count = this.countOf(workspaceId, { class: kind, channel });
      channels[channel] = Math.max(0, count.undelivered - bounded(count.asideHeld));
      undelivered += channels[channel];
    }
    return { undelivered, channels, bound: this.bounds[kind] };
  }

  private async recount(): Promise<void> {
    this.changed = false;
    for (const { id } of [...(this.options.partitions?.() ?? [])]) await sweepDueGroups(this.db, id);
    const nowMs = Date.now();
    const span = { asideNow: tagsAside(this.counts), nowMs, untilMs: nowMs + AHEAD_MS };
    try {
      const { rows, hasMore } = await this.read(span);
      this.replaceBy(rows);
      this.aheadUntilMs = span.untilMs;
      this.hasMore = hasMore;
      for (const change of this.meanwhile ?? []) this.apply(change);
    } finally {
      this.meanwhile = undefined;
    }
  }

  /**
   * Counts what there is at one moment, which the first statement decides, so that what changes while the second one runs can
   * be added to its answer. What changes while the first one runs may be on either side of that moment: it is counted rather
   * than not, because the bound is not to be exceeded. Only what was being written at that moment is missing until the next count,
   * which follows (`settled`).
   */
  private read(span: Span): Promise<{ rows: readonly Counted[]; hasMore: boolean }> {
    return this.db
      .transaction()
      .setIsolationLevel('repeatable read')
      .execute(async (tx) => {
        this.meanwhile = [];
        const hasMore = await fallsDueAfter(tx, span.untilMs);
        this.meanwhile = this.meanwhile.filter(({ by }) => by > 0);
        return { rows: await countDue(tx, span), hasMore };
      });
  }

  private replaceBy(rows: readonly Counted[]): void {
    this.counts = new Map();
    this.soon = new SoonDue();
    for (const { workspaceId, campaign, isHeld, count, dueMs, ...of } of rows) {
      if (campaign !== null) standsAside(recordedIn(this.counts, workspaceId, of), campaign, isHeld);
      const tagged = { ...of, campaign: campaign ?? undefined };
      if (dueMs === null) this.add(workspaceId, tagged, count);
      else this.soon.add(dueMs, { workspaceId, of: tagged, count });
    }
  }

  private get isCountWanted(): boolean {
    return this.changed || (this.hasMore && Date.now() > this.aheadUntilMs - RECOUNT_INTERVAL_MAX_MS);
  }

  private recountAfter(ms: number): void {
    if (!this.running) return;
    this.timer = setTimeout(async () => {
      const begun = performance.now();
      this.isCounting = true;
      this.isWanted = false;
      // A failure shows elsewhere; the next round corrects the count.
      if (this.isCountWanted)
        this.changed = await this.recount().then(
          () => this.changed,
          () => true,
        );
      this.isCounting = false;
      this.tookMs = performance.now() - begun;
      this.recountAfter(this.isWanted ? this.soonMs() : recountRestMs(this.tookMs));
    }, ms).unref();
  }

  private soonMs(): number {
    return Math.min(Math.max(RECOUNT_SOON_MS, this.tookMs / RECOUNT_SOON_SHARE), RECOUNT_INTERVAL_MAX_MS);
  }
}

interface Change {
  workspaceId: string;
  of: Tagged;
  by: number;
  dueMs: number;
}

/** By workspace. Each message looks here twice, so that no key is put together for it. */
type Counts = Map<string, Record<MessageClass, Record<Channel, Count>>>;

/** Due messages of a class of a workspace, on one channel. */
interface Count {
  undelivered: number;
  /** Of these, what stands aside, by tag; all of it; and what of it is still held. */
  aside: Map<string, Aside>;
  asideAll: number;
  asideHeld: number;
}

interface Aside {
  count: number;
  isHeld: boolean;
}

const nothingYet = (): Count => ({ undelivered: 0, aside: new Map(), asideAll: 0, asideHeld: 0 });
const NOTHING: Readonly<Count> = nothingYet();

const asideOf = ({ aside }: Readonly<Count>, campaign: string | undefined): Aside | undefined =>
  campaign === undefined || aside.size === 0 ? undefined : aside.get(campaign);

function standsAside(known: Count, campaign: string, isHeld: boolean): void {
  if (!known.aside.has(campaign)) known.aside.set(campaign, { count: 0, isHeld });
}

/** Without it, what is canceled while it stands aside would seem to make room for others until the next count. */
function changeAside(known: Count, aside: Aside, by: number): void {
  const change = Math.max(-aside.count, by);
  aside.count += change;
  known.asideAll += change;
  if (aside.isHeld) known.asideHeld += change;
}

function recordedIn(counts: Counts, workspaceId: string, of: Countable): Count {
  let known = counts.get(workspaceId);
  if (!known) {
    const channels = () => ({ email: nothingYet(), sms: nothingYet(), voice: nothingYet() });
    known = { marketing: channels(), transactional: channels() };
    counts.set(workspaceId, known);
  }
  return known[of.class][of.channel];
}

/** Of all classes and channels. */
const countsOf = (known: Record<MessageClass, Record<Channel, Count>>): Count[] =>
  Object.values(known).flatMap((channels) => Object.values(channels));

function tagsAside(counts: Counts): Tag[] {
  const tags = new Map<string, Tag>();
  for (const [workspaceId, ofWorkspace] of counts) {
    for (const { aside } of countsOf(ofWorkspace)) {
      for (const campaign of aside.keys()) tags.set(`${workspaceId} ${campaign}`, { workspaceId, campaign });
    }
  }
  return [...tags.values()];
}

const bounded = (aside: number) => Math.min(aside, LIMITS.outboxAsideMessages);

interface Tag {
  workspaceId: string;
  campaign: string;
}

/** Those of one tag that stands aside, or all others of the class and channel: due, or due in one second to come. */
interface Counted extends Countable {
  workspaceId: string;
  campaign: string | null;
  isHeld: boolean;
  dueMs: number | null;
  count: number;
}

interface Span {
  asideNow: readonly Tag[];
  nowMs: number;
  untilMs: number;
}

/** What stood aside until now does so until it has left, also if its hold has ended. */
async function countDue(
  db: Kysely<MessagingTables>,
  { asideNow, nowMs, untilMs }: Span,
): Promise<readonly Counted[]> {
  const now = new Date(nowMs).toISOString();
  const { rows } = await sql<Counted>`
    select m.workspace_id as "workspaceId", m.class, m.channel, coalesce(h.campaign, a.campaign) as campaign,
      h.campaign is not null as "isHeld",
      case when m.due_at > ${now}::timestamptz then floor(extract(epoch from m.due_at))::float8 * 1000 end as "dueMs",
      count(*)::int as count
    from ${allDue(new Date(untilMs))}
    left join holds h on h.workspace_id = m.workspace_id and h.campaign = m.campaign and h.aside
    left join unnest(
      ${asideNow.map(({ workspaceId }) => workspaceId)}::text[], ${asideNow.map(({ campaign }) => campaign)}::text[]
    ) as a(workspace_id, campaign) on a.workspace_id = m.workspace_id and a.campaign = m.campaign
    group by 1, 2, 3, 4, 5, 6
  `.execute(db);
  return rows;
}

async function fallsDueAfter(db: Kysely<MessagingTables>, ms: number): Promise<boolean> {
  const { rows } = await sql`
    select from dispatch_lanes l join due_groups g
      on g.lane = l.id and g.due_at > ${new Date(ms).toISOString()}::timestamptz limit 1`.execute(db);
  return rows.length > 0;
}

/** How long to rest after a count that took so long, in milliseconds. */
export function recountRestMs(tookMs: number): number {
  return Math.min(Math.max(RECOUNT_INTERVAL_MS, tookMs / RECOUNT_SHARE), RECOUNT_INTERVAL_MAX_MS);
}
