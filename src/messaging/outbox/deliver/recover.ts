import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import { databaseNow } from '../../../domain/database-clock';
import type { Log } from '../../../log';
import { type AttemptResult, toAttemptResult } from '../../model/attempt-result';
import type { OutgoingMessage } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import type { Savings, SenderLimits } from '../../senders/sender-limits';
import type { TemplateVersions } from '../../templates/template-versions';
import { readWaiting } from '../queue/due-messages';
import type { Holds } from '../queue/holds';
import type { OutboxQueue } from '../queue/outbox-queue';
import type { Partition, Partitions } from '../queue/partitions';
import { abandonGroup, findSuppressed, type Group } from './groups';
import type { ListUnsubscribe } from './list-unsubscribe';
import { isExpired } from './opener';
import type { OpenGroup } from './recorder';
import { renderBatch } from './render-batch';
import type { ChannelWay, Ways } from './ways';

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  listUnsubscribe?: ListUnsubscribe | undefined;
  queue: OutboxQueue;
  partitions: Pick<Partitions, 'confirm'>;
  holds: Holds;
  limits: Pick<SenderLimits, 'payAgain'>;
  ways: Pick<Ways, 'called' | 'default'>;
  log: Log;
  isRunning(): boolean;
}

const RETRY_MS = 250;

/**
 * The groups that a partition's former owner opened and did not close. Their messages that are still due may or
 * may not have reached the provider. A provider that knows a message by its id is given the same messages
 * again; with any other they become `unknown`, because to send again could be to send twice.
 */
export async function recoverGroups(deps: Deps, partition: Partition, ready: () => void): Promise<void> {
  const { queue, log, isRunning } = deps;
  let groups: Group[] | undefined;
  while (!groups) {
    try {
      groups = await openGroupsOf(deps.db, partition);
    } catch (error) {
      if (partition.lost) return;
      log.warn(
        { err: error, partition: partition.id },
        'Open groups of an adopted partition could not be read; trying again',
      );
      await delay(RETRY_MS, undefined, { ref: false });
    }
  }
  // Until they are settled they stay in hand: their messages must not be read as if they were new.
  for (const group of groups) queue.claim(partition, group.messages);
  ready();
  await Promise.all(
    groups.map(async (group) => {
      const open: OpenGroup = { ...group, unrecorded: group.messages.length };
      const saved: Savings = new Map();
      for (let left = group.messages; ; ) {
        left = await settleSome(deps, open, left, saved);
        if (partition.lost || left.length === 0) return;
        await delay(RETRY_MS, undefined, { ref: false });
        if (!partition.lost && !isRunning()) return;
      }
    }),
  );
}

/**
 * Returns the messages that are still to be settled. Held messages, and those of a restrained sender, wait alone, because
 * others of their group may be another workspace's.
 */
async function settleSome(
  deps: Deps,
  group: OpenGroup,
  left: readonly OutgoingMessage[],
  saved: Savings,
): Promise<readonly OutgoingMessage[]> {
  if (group.partition.lost) return left;
  const isAgain = isOfferedAgain(deps, group);
  const held = isAgain ? left.filter((message) => mustWait(deps, message)) : [];
  const free = held.length === 0 ? left : left.filter((message) => !held.includes(message));
  try {
    const unwanted = await unwantedAmong(deps.db, group, held);
    if (unwanted.length > 0) {
      await settleUnknown(deps, group, unwanted);
      return left.filter((message) => !unwanted.includes(message));
    }
    // The provider counts what it is given again, whether or not it got it before.
    const ready = isAgain ? await deps.limits.payAgain(free, saved) : free;
    if (ready.length === 0 && left.length > 0) return left;
    await settle(deps, group, ready);
    return left.filter((message) => !ready.includes(message));
  } catch (error) {
    deps.log.warn({ err: error, group: group.id }, 'A group in doubt could not be settled; trying again');
    return left;
  }
}

async function settle(deps: Deps, group: OpenGroup, messages: readonly OutgoingMessage[]): Promise<void> {
  const { db, ways, log } = deps;
  const [first] = messages;
  if (!first) return abandonGroup(db, group.id);
  const count = messages.length;
  if (isOfferedAgain(deps, group)) {
    log.info({ group: group.id, count }, 'Handing over again what a process was handing over when it ended');
    return handOverAgain(deps, wayOf(ways, group, first), group, messages);
  }
  log.warn({ group: group.id, count }, 'Messages are unknown: a process ended while handing them over');
  await settleUnknown(deps, group, messages);
}

async function settleUnknown(
  { ways }: Deps,
  group: OpenGroup,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  const [first] = messages;
  if (!first) return;
  const { recorder } = wayOf(ways, group, first);
  await recorder.record(messages.map(asUnknown), { partition: group.partition, group });
}

/** The default's recorder stands in for an account that is gone. */
const wayOf = (ways: Deps['ways'], group: Group, { channel }: OutgoingMessage): ChannelWay =>
  ways.called(group.provider, channel) ?? ways.default(channel);

async function handOverAgain(
  deps: Deps,
  way: ChannelWay,
  group: OpenGroup,
  messages: readonly OutgoingMessage[],
): Promise<void> {
  const { db, templates, listUnsubscribe, partitions } = deps;
  const { partition } = group;
  const { ready } = await renderBatch({ templates, listUnsubscribe }, messages, Number.POSITIVE_INFINITY);
  const suppressed = await findSuppressed(db, messages);
  if (!(await partitions.confirm(partition))) {
    if (partition.lost) return;
    throw new Error('The lease on the partition is over');
  }
  const now = databaseNow();
  const again = ready.filter(({ message }) => !suppressed.has(message.id) && !isExpired(message, now));
  // A message that may no longer be sent, or cannot be rendered, may have been sent before the crash.
  const offered = new Set(again.map(({ message }) => message));
  const doubtful = messages.filter((message) => !offered.has(message));
  way.delivery.handOverAgain(again.map(({ message, handOver }) => ({ message, handOver, group })));
  if (doubtful.length > 0) await way.recorder.record(doubtful.map(asUnknown), { partition, group });
}

const asUnknown = (message: OutgoingMessage): AttemptResult =>
  toAttemptResult(message, { kind: 'unknown' }, Date.now(), 0);

/**
 * A tag may have been held since, or a workspace stopped: what the provider has not got must then wait as well, until its
 * time is over. Then it is not given to the provider again, and may have been sent before.
 */
const mustWait = ({ holds }: Deps, message: OutgoingMessage): boolean =>
  holds.isHeld(message) && !isExpired(message, databaseNow());

/**
 * Of messages that must wait, those that were canceled (`noteUnwanted`). Their hold may never end, and they may have been
 * sent before the crash.
 */
async function unwantedAmong(
  db: Kysely<MessagingTables>,
  group: Group,
  held: readonly OutgoingMessage[],
): Promise<OutgoingMessage[]> {
  if (held.length === 0) return [];
  const row = await db
    .selectFrom('handover_batches')
    .select('unwanted')
    .where('id', '=', group.id)
    .executeTakeFirst();
  return held.filter(({ id }) => row?.unwanted?.includes(id));
}

function isOfferedAgain({ ways }: Deps, { provider, messages: [first] }: Group): boolean {
  return (
    first !== undefined &&
    (ways.called(provider, first.channel)?.limiter.provider.capabilities.idempotent ?? false)
  );
}

async function openGroupsOf(db: Kysely<MessagingTables>, partition: Partition): Promise<Group[]> {
  const rows = await db
    .selectFrom('handover_batches')
    .select(['id', 'provider', 'message_ids'])
    .where('lane', '=', partition.id)
    .orderBy(sql`opened_at`)
    .execute();
  const groups: Group[] = [];
  for (const { id, provider, message_ids } of rows) {
    const read = await readWaiting(db, message_ids);
    groups.push({
      id,
      partition,
      provider,
      messages: read.map((one) => ({ ...one, boundTo: provider, inDoubt: true })),
    });
  }
  return groups;
}
