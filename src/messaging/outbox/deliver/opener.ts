import { type Kysely, sql } from 'kysely';
import { databaseNow } from '../../../domain/database-clock';
import type { Log } from '../../../log';
import { newId } from '../../../storage/new-id';
import type { AttemptResult } from '../../model/attempt-result';
import type { OutgoingMessage } from '../../model/outgoing';
import type { MessagingTables } from '../../model/tables';
import type { TemplateVersions } from '../../templates/template-versions';
import type { HeldTag, Holdable, Holds } from '../queue/holds';
import type { OutboxQueue } from '../queue/outbox-queue';
import type { Partition, Partitions } from '../queue/partitions';
import type { Entry } from '../queue/window';
import { abandonGroup, abandonOpening, type Group, openGroup } from './groups';
import type { ListUnsubscribe } from './list-unsubscribe';
import type { Leaving, OpenGroup, Recorder } from './recorder';
import { type Rendered, renderBatch } from './render-batch';

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  listUnsubscribe?: ListUnsubscribe | undefined;
  partitions: Partitions;
  holds: Holds;
  queue: OutboxQueue;
  recorder: Recorder;
  provider: string;
  log: Log;
}

export interface Opening {
  /** What may leave now. */
  leaving: readonly Leaving[];
  /** To the front of the queue. */
  back: readonly Entry[];
  /** These wait in the table, or have ended. */
  gone: readonly Entry[];
  /** The database or a template could not be reached: to be tried again after a pause. */
  isHindered: boolean;
}

/**
 * From the queue to an open group: render, ask the database what may leave, write that down. Killed before the
 * opening, the messages are in the table as before. Killed after it, the group is found by the process that adopts
 * the partition (recover.ts).
 */
export class GroupOpener {
  constructor(private readonly deps: Deps) {}

  /** For messages of one partition. */
  async open(partition: Partition, entries: readonly Entry[]): Promise<Opening> {
    const { templates, listUnsubscribe, holds, recorder, log } = this.deps;
    const now = databaseNow();
    const expired: Entry[] = [];
    const held: Entry[] = [];
    const live: Entry[] = [];
    for (const entry of entries) {
      if (isExpired(entry.message, now)) expired.push(entry);
      else (holds.isHeld(entry.message) ? held : live).push(entry);
    }
    const messages = live.map(({ message }) => message);
    const rendered = await renderBatch({ templates, listUnsubscribe }, messages).catch((error: unknown) => {
      log.warn({ err: error }, 'Templates could not be read; trying again');
    });
    if (!rendered) return { leaving: [], back: entries, gone: [], isHindered: true };
    if (expired.length + rendered.failed.length > 0) {
      await recorder.record([...expired.map((one) => asExpired(one.message)), ...rendered.failed], {
        partition,
      });
    }
    const outcome = await this.openRendered(partition, rendered.ready);
    const leaving = new Set(outcome.leaving.map(({ message }) => message));
    const back = new Set([...rendered.rest, ...outcome.back]);
    return {
      leaving: outcome.leaving,
      back: partition.lost ? [] : entries.filter(({ message }) => back.has(message)),
      gone: entries.filter(({ message }) => !leaving.has(message) && (partition.lost || !back.has(message))),
      isHindered: outcome.isHindered,
    };
  }

  private async openRendered(
    partition: Partition,
    ready: readonly Rendered[],
  ): Promise<{ leaving: Leaving[]; back: readonly OutgoingMessage[]; isHindered: boolean }> {
    const { db, partitions, recorder, provider, log } = this.deps;
    if (ready.length === 0) return { leaving: [], back: [], isHindered: false };
    const messages = ready.map(({ message }) => message);
    const group: Group = { id: newId('bat'), partition, provider, messages };
    try {
      const { opened, suppressed } = await this.openWhatMay(group);
      if (suppressed.length > 0) await recorder.record(suppressed.map(asSuppressed), { partition });
      if (!opened) return { leaving: [], back: [], isHindered: false };
      if (!(await partitions.confirm(partition))) {
        await abandonGroup(db, group.id);
        return { leaving: [], back: opened.messages, isHindered: true };
      }
      const open: OpenGroup = { ...opened, unrecorded: opened.messages.length };
      const inGroup = new Set(opened.messages);
      const leaving = ready.flatMap(({ message, handOver }) =>
        inGroup.has(message) ? [{ message, handOver, group: open }] : [],
      );
      return { leaving, back: [], isHindered: false };
    } catch (error) {
      // It is not known whether the row was written. Nothing has left, so it may be removed.
      log.warn({ err: error, group: group.id }, 'A hand-over group could not be opened; trying again');
      await recorder.untilDone(() => abandonOpening(db, group));
      return { leaving: [], back: messages, isHindered: true };
    }
  }

  /** Opens the messages of the group that may leave. Held and canceled messages are left to the table. */
  private async openWhatMay(
    group: Group,
  ): Promise<{ opened: Group | undefined; suppressed: readonly OutgoingMessage[] }> {
    const { db, holds } = this.deps;
    let { messages } = group;
    while (messages.length > 0 && !group.partition.lost) {
      const outcome = await openGroup(db, { ...group, messages }, holds);
      if (outcome.kind === 'opened') {
        const suppressed = messages.filter(({ id }) => outcome.suppressed.has(id));
        if (suppressed.length > 0) messages = messages.filter(({ id }) => !outcome.suppressed.has(id));
        return { opened: messages.length > 0 ? { ...group, messages } : undefined, suppressed };
      }
      if (outcome.kind === 'held') {
        holds.learn(outcome.tags);
        const isHeld = heldBy(outcome.tags);
        messages = messages.filter((message) => !isHeld(message));
      } else {
        const gone = await this.takeNotice(
          group.partition,
          messages.map(({ id }) => id),
        );
        messages = messages.filter(({ id }) => !gone.has(id));
      }
    }
    return { opened: undefined, suppressed: [] };
  }

  /** The partition changed: it is another's by now, or messages in it were canceled. */
  private async takeNotice(partition: Partition, ids: string[]): Promise<ReadonlySet<string>> {
    const { db, partitions, queue } = this.deps;
    const row = await db
      .selectFrom('dispatch_lanes')
      .select(['fence', 'cancels'])
      .where('id', '=', partition.id)
      .executeTakeFirst();
    if (row?.fence !== partition.fence) {
      await partitions.lose(partition);
      return new Set(ids);
    }
    const { rows } = await sql<{ id: string }>`
      select id from messages
      where id = any(${[...ids, ...queue.idsWaiting(partition)]}::text[]) and state not in ('scheduled', 'accepted')
    `.execute(db);
    // Read before the messages were: what was canceled since raises it again.
    partition.cancels = row.cancels;
    const gone = new Set(rows.map((one) => one.id));
    queue.drop(gone);
    return gone;
  }
}

/** By what the database answered: the copy in memory may have been read anew since. */
function heldBy(tags: readonly HeldTag[]): (message: Holdable) => boolean {
  const stopped = new Set(tags.filter(({ campaign }) => campaign === null).map((tag) => tag.workspaceId));
  const held = new Set(tags.map((tag) => `${tag.workspaceId}/${tag.campaign}`));
  return ({ workspaceId, campaign, confirmsOptOut }) =>
    (!confirmsOptOut && stopped.has(workspaceId)) ||
    (campaign !== undefined && held.has(`${workspaceId}/${campaign}`));
}

export const isExpired = ({ expiresAtMs }: OutgoingMessage, nowMs: number) =>
  expiresAtMs !== undefined && expiresAtMs < nowMs;

export const asExpired = (message: OutgoingMessage): AttemptResult => ({
  message,
  state: 'expired',
  attempt: message.attempt,
  code: 'expired',
});

const asSuppressed = (message: OutgoingMessage): AttemptResult => ({
  message,
  state: 'suppressed',
  attempt: message.attempt,
});
