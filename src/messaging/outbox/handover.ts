import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { Log } from '../../log';
import type { HandOver, HandOverResult } from '../../providers/provider';
import { newId } from '../../storage/new-id';
import { isDataError } from '../database-error';
import { foundIn, suppressFound } from '../receipts/receipt-suppression';
import type { MessagingTables } from '../tables';
import type { TemplateVersions } from '../templates/template-versions';
import { asExpired } from './expire-waiting';
import {
  abandonBatch,
  abandonOpening,
  type Batch,
  findSuppressed,
  openBatch,
  recordVerdicts,
} from './handover-batch';
import type { Holds } from './holds';
import type { Lane, Lanes } from './lanes';
import type { ListMail } from './list-mail';
import type { OutgoingMessage } from './outgoing';
import { type ProviderDesk, throttledSenders } from './provider-desk';
import { type Rendered, renderBatch } from './render-batch';
import { type Verdict, verdictOf } from './verdict';

/**
 * One batch on its way: render, open, hand over, record. Killed before the opening, the messages are in
 * the table as before. Killed after it, the batch is found open by whoever adopts the lane. Killed
 * between the provider's answer and the record, likewise, and the answer is lost.
 */
export interface HandOvers {
  /** Messages of one lane, channel and workspace. Answers those that did not leave and are still to be sent. */
  send(desk: ProviderDesk, lane: Lane, messages: readonly OutgoingMessage[]): Promise<Unsent>;
  /** A batch that is open already, because whoever opened it did not live to record it. */
  resend(desk: ProviderDesk, batch: Batch): Promise<void>;
  /** Of a batch, or without an id of messages that never left. */
  record(verdicts: Verdict[], batch: Pick<Batch, 'lane' | 'provider'> & { id?: string }): Promise<void>;
  /** Ends the waiting for a database that does not answer. */
  giveUp(): void;
}

export interface Unsent {
  /** For the next batch. */
  rest: readonly OutgoingMessage[];
  /** For want of the database: to be tried again after a pause. */
  hindered: readonly OutgoingMessage[];
  /** Their tags were held at the time. */
  held: readonly OutgoingMessage[];
  /** Those that the provider was given. */
  handedOver: readonly OutgoingMessage[];
}

interface Deps {
  db: Kysely<MessagingTables>;
  templates: TemplateVersions;
  listMail?: ListMail | undefined;
  lanes: Lanes;
  holds: Holds;
  log: Log;
  onRecorded(verdicts: readonly Verdict[]): Promise<void>;
  /** Somebody else recorded this batch, or we did and did not hear of it: look in the table. */
  onNotOurs(lane: Lane): void;
  /** These were canceled while they waited in memory. */
  onCanceled(ids: ReadonlySet<string>): void;
  waitingIn(lane: Lane): string[];
  /** The provider asked for silence about this message's sender. */
  onThrottled(message: OutgoingMessage, delayMs: number): Promise<void>;
}

const RETRY_MS = 300;

export function createHandOvers(deps: Deps): HandOvers {
  const { db, templates, lanes, holds, log, onRecorded, onNotOurs, onCanceled, waitingIn, onThrottled } =
    deps;
  const render = { templates, listMail: deps.listMail };
  let givenUp = false;

  async function send(desk: ProviderDesk, lane: Lane, messages: readonly OutgoingMessage[]): Promise<Unsent> {
    const now = Date.now();
    const provider = desk.provider.name;
    const expired = messages.filter((message) => isExpired(message, now));
    const live: OutgoingMessage[] = [];
    const held: OutgoingMessage[] = [];
    for (const message of messages) {
      if (isExpired(message, now)) continue;
      (holds.isHeld(message.workspaceId, message.campaign) ? held : live).push(message);
    }
    const rendered = await renderBatch(render, live).catch((error: unknown) => {
      log.warn({ err: error }, 'Templates could not be read; trying again');
    });
    if (!rendered) return { rest: [], hindered: messages, held: [], handedOver: [] };
    const { rest } = rendered;
    if (expired.length + rendered.failed.length > 0) {
      await record([...expired.map(asExpired), ...rendered.failed], { lane, provider });
    }
    if (rendered.ready.length === 0) return { rest, hindered: [], held, handedOver: [] };

    let batch: Batch = {
      id: newId('bat'),
      lane,
      provider,
      messages: rendered.ready.map((one) => one.message),
    };
    try {
      const { opened, suppressed } = await open(batch, held);
      if (suppressed.length > 0) await record(suppressed.map(asSuppressed), { lane, provider });
      if (!opened) return { rest, hindered: [], held, handedOver: [] };
      batch = opened;
      if (!(await lanes.confirm(lane))) {
        await abandonBatch(db, batch.id);
        return { rest, hindered: batch.messages, held, handedOver: [] };
      }
    } catch (error) {
      // It is not known whether the row was written. Nothing has left, so it may be removed.
      log.warn({ err: error, batch: batch.id }, 'A hand-over batch could not be opened; trying again');
      await untilDone(() => abandonOpening(db, batch));
      return { rest, hindered: batch.messages, held, handedOver: [] };
    }
    const inBatch = new Set(batch.messages);
    const stayed = await handOver(
      desk,
      batch,
      rendered.ready.filter((one) => inBatch.has(one.message)),
    );
    const handedOver = batch.messages.filter((message) => !stayed.has(message));
    return { rest: [...stayed, ...rest], hindered: [], held, handedOver };
  }

  /** Opens what may leave of the batch, if anything may; adds to `held` what may not for now. */
  async function open(
    batch: Batch,
    held: OutgoingMessage[],
  ): Promise<{ opened: Batch | undefined; suppressed: readonly OutgoingMessage[] }> {
    let { messages } = batch;
    while (messages.length > 0 && !batch.lane.lost) {
      const workspaceId = messages[0]?.workspaceId as string;
      const outcome = await openBatch(db, { ...batch, messages }, workspaceId);
      if (outcome.kind === 'opened') {
        const suppressed = messages.filter((message) => outcome.suppressed.has(message.id));
        if (suppressed.length > 0) messages = messages.filter(({ id }) => !outcome.suppressed.has(id));
        return { opened: messages.length > 0 ? { ...batch, messages } : undefined, suppressed };
      }
      if (outcome.kind === 'held') {
        holds.learn(workspaceId, outcome.campaigns);
        const isHeld = ({ campaign }: OutgoingMessage) => outcome.campaigns.includes(campaign ?? '');
        held.push(...messages.filter(isHeld));
        messages = messages.filter((message) => !isHeld(message));
      } else {
        const gone = await takeNotice(
          batch.lane,
          messages.map((message) => message.id),
        );
        messages = messages.filter((message) => !gone.has(message.id));
      }
    }
    return { opened: undefined, suppressed: [] };
  }

  /** The lane changed: it is another's by now, or messages in it were canceled. */
  async function takeNotice(lane: Lane, ids: string[]): Promise<ReadonlySet<string>> {
    const row = await db
      .selectFrom('dispatch_lanes')
      .select(['fence', 'cancels'])
      .where('id', '=', lane.id)
      .executeTakeFirst();
    if (row?.fence !== lane.fence) {
      await lanes.lose(lane);
      return new Set(ids);
    }
    const { rows } = await sql<{ id: string }>`
      select id from messages
      where id = any(${[...ids, ...waitingIn(lane)]}::text[]) and state not in ('scheduled', 'accepted')
    `.execute(db);
    // Read before the messages were: whatever was canceled since raises it again.
    lane.cancels = row.cancels;
    const gone = new Set(rows.map((one) => one.id));
    onCanceled(gone);
    return gone;
  }

  /** Answers those that were not to leave any more when their turn came. */
  async function handOver(
    desk: ProviderDesk,
    batch: Batch,
    ready: readonly Rendered[],
  ): Promise<ReadonlySet<OutgoingMessage>> {
    const startedAt = Date.now();
    const late = ready.filter(({ message }) => isExpired(message, startedAt));
    const inTime = late.length === 0 ? ready : ready.filter((one) => !late.includes(one));
    const results = await offer(desk, inTime);
    const now = Date.now();
    const verdicts = inTime.map(({ message }, i) =>
      verdictOf(message, results[i] ?? { kind: 'unknown' }, now, Math.random()),
    );
    await record([...late.map(({ message }) => asExpired(message)), ...verdicts], batch);
    const stayed = inTime.filter((_, i) => results[i]?.kind === 'stayed');
    return new Set(stayed.map(({ message }) => message));
  }

  async function offer(desk: ProviderDesk, ready: readonly Rendered[]): Promise<HandOverResult[]> {
    if (ready.length === 0) return [];
    const messages = new Map(ready.map(({ message }) => [message.id, message]));
    const mayLeave = ({ id }: HandOver): boolean => {
      const message = messages.get(id);
      if (!message || isExpired(message, Date.now())) return false;
      return !holds.isHeld(message.workspaceId, message.campaign);
    };
    const ended = holds.attend();
    const results = await desk.handOver(
      ready.map((one) => one.handOver),
      mayLeave,
    );
    ended();
    for (const { sender, delayMs } of throttledSenders(
      ready.map((one) => one.handOver),
      results,
    )) {
      const message = ready.find((one) => one.message.from === sender)?.message;
      if (message) await onThrottled(message, delayMs);
    }
    return results;
  }

  async function record(
    verdicts: Verdict[],
    { id, lane, provider }: { id?: string; lane: Lane; provider: string },
  ): Promise<void> {
    const workspaceId = verdicts[0]?.message.workspaceId;
    if (workspaceId === undefined) return;
    let kept = verdicts;
    const found = foundIn(verdicts);
    /** What is learned of recipients counts with the end of their messages, or neither does. */
    const write = () => {
      const batch = { workspaceId, provider, batchId: id, lane };
      if (found.length === 0) return recordVerdicts(db, kept, batch);
      return db.transaction().execute(async (transaction) => {
        await suppressFound(transaction, workspaceId, found);
        return recordVerdicts(transaction, kept, batch);
      });
    };
    const written = await untilDone(async () => {
      try {
        return await write();
      } catch (error) {
        if (!isDataError(error)) throw error;
        // The states matter more than what the provider said about them.
        log.error({ err: error, provider }, 'Answers of a provider could not be stored');
        kept = verdicts.map(({ message, state, attempt, retryAtMs }) => ({
          message,
          state,
          attempt,
          retryAtMs,
        }));
        return await write();
      }
    });
    if (written) return onRecorded(kept);
    if (id === undefined) {
      if (written === false) await untilDone(() => lanes.lose(lane));
      return;
    }
    onNotOurs(lane);
    if (!givenUp) log.warn({ batch: id }, 'A hand-over was already accounted for');
  }

  async function untilDone<T>(action: () => Promise<T>): Promise<T | undefined> {
    while (!givenUp) {
      try {
        return await action();
      } catch (error) {
        log.warn({ err: error }, 'The outbox could not be written; trying again');
        await delay(RETRY_MS, undefined, { ref: false });
      }
    }
    return undefined;
  }

  return {
    send,
    async resend(desk, batch) {
      const { ready } = await renderBatch(render, batch.messages, Number.POSITIVE_INFINITY);
      const suppressed = await findSuppressed(db, batch.messages);
      if (!(await lanes.confirm(batch.lane))) {
        if (batch.lane.lost) return;
        throw new Error('The lease on the lane is over');
      }
      // What may not be sent any more, or cannot be rendered, may have been sent before.
      const startedAt = Date.now();
      const again = ready.filter(
        ({ message }) => !suppressed.has(message.id) && !isExpired(message, startedAt),
      );
      const offered = new Set(again.map((one) => one.message));
      const results = await offer(desk, again);
      const now = Date.now();
      const verdicts = again.map(({ message }, i) =>
        verdictOf(message, results[i] ?? { kind: 'unknown' }, now, Math.random()),
      );
      const doubtful = batch.messages
        .filter((message) => !offered.has(message))
        .map((message) => verdictOf(message, { kind: 'unknown' }, now, 0));
      return record([...verdicts, ...doubtful], batch);
    },
    record,
    giveUp() {
      givenUp = true;
    },
  };
}

const isExpired = ({ expiresAtMs }: OutgoingMessage, nowMs: number) =>
  expiresAtMs !== undefined && expiresAtMs < nowMs;

const asSuppressed = (message: OutgoingMessage): Verdict => ({
  message,
  state: 'suppressed',
  attempt: message.attempt,
});
