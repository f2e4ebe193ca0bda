import { setTimeout as delay } from 'node:timers/promises';
import { type Kysely, sql } from 'kysely';
import type { Log } from '../../log';
import type { SenderLimits } from '../senders/sender-limits';
import type { MessagingTables } from '../tables';
import type { DispatchMemory } from './dispatch-memory';
import { readWaiting } from './due-messages';
import type { HandOvers } from './handover';
import { abandonBatch, type Batch } from './handover-batch';
import type { Holds } from './holds';
import type { Lane } from './lanes';
import type { OutgoingMessage } from './outgoing';
import type { ProviderDesk } from './provider-desk';
import { verdictOf } from './verdict';

interface Deps {
  db: Kysely<MessagingTables>;
  memory: DispatchMemory;
  /** They are accounted for: they leave memory, and are read again when it is time to. */
  letGo(lane: Lane, messages: readonly OutgoingMessage[]): void;
  holds: Holds;
  limits: Pick<SenderLimits, 'takeWhole'>;
  desks: readonly ProviderDesk[];
  handOvers: HandOvers;
  log: Log;
  isRunning(): boolean;
}

const RETRY_MS = 250;

/**
 * The batches that a lane's former owner opened and did not close. Their messages may or may not have
 * reached the provider. One that knows a message by its id is given the same messages again; with any
 * other they become `unknown`, because to send again could be to send twice.
 */
export async function settleInDoubt(deps: Deps, lane: Lane, ready: () => void): Promise<void> {
  const { memory, log, isRunning } = deps;
  let batches: Batch[] | undefined;
  while (!batches) {
    try {
      batches = await openBatchesOf(deps.db, lane);
    } catch (error) {
      if (lane.lost) return;
      log.warn(
        { err: error, lane: lane.id },
        'Open batches of an adopted lane could not be read; trying again',
      );
      await delay(RETRY_MS, undefined, { ref: false });
    }
  }
  for (const batch of batches) memory.claim(batch.messages);
  ready();
  await Promise.all(
    batches.map(async (batch) => {
      while (!(await trySettle(deps, batch))) {
        await delay(RETRY_MS, undefined, { ref: false });
        if (!lane.lost && !isRunning()) return;
      }
      deps.letGo(lane, batch.messages);
    }),
  );
}

/** Until it is settled the batch stays in hand: its messages must not be read as if they were new. */
async function trySettle(deps: Deps, batch: Batch): Promise<boolean> {
  if (batch.lane.lost) return true;
  if (isHeld(deps, batch)) return false;
  try {
    // The provider counts what it is given again, whether or not it got it before.
    if (isOfferedAgain(deps, batch) && !(await deps.limits.takeWhole(batch.messages))) return false;
    await settle(deps, batch);
    return true;
  } catch (error) {
    deps.log.warn({ err: error, batch: batch.id }, 'A batch in doubt could not be settled; trying again');
    return false;
  }
}

async function settle(deps: Deps, batch: Batch): Promise<void> {
  const { db, desks, handOvers, log } = deps;
  if (batch.messages.length === 0) return abandonBatch(db, batch.id);
  const channel = batch.messages[0]?.channel;
  const desk = desks.find((one) => one.channel === channel && one.provider.name === batch.provider);
  const count = batch.messages.length;
  if (desk?.provider.capabilities.idempotent) {
    log.info({ batch: batch.id, count }, 'Handing over again what a process was handing over when it ended');
    desk.enter();
    return handOvers.resend(desk, batch).finally(() => desk.leave());
  }
  log.warn({ batch: batch.id, count }, 'Messages are unknown: a process ended while handing them over');
  const now = Date.now();
  return handOvers.record(
    batch.messages.map((message) => verdictOf(message, { kind: 'unknown' }, now, 0)),
    batch,
  );
}

/** A tag may have been held since: what the provider has not got must then wait as well. */
function isHeld(deps: Deps, batch: Batch): boolean {
  const { holds } = deps;
  return (
    isOfferedAgain(deps, batch) &&
    batch.messages.some(({ workspaceId, campaign }) => holds.isHeld(workspaceId, campaign))
  );
}

const isOfferedAgain = ({ desks }: Deps, { provider }: Batch) =>
  desks.some((desk) => desk.provider.name === provider && desk.provider.capabilities.idempotent);

async function openBatchesOf(db: Kysely<MessagingTables>, lane: Lane): Promise<Batch[]> {
  const rows = await db
    .selectFrom('handover_batches')
    .select(['id', 'provider', 'message_ids'])
    .where('lane', '=', lane.id)
    .orderBy(sql`opened_at`)
    .execute();
  const batches: Batch[] = [];
  for (const { id, provider, message_ids } of rows) {
    batches.push({ id, lane, provider, messages: await readWaiting(db, message_ids) });
  }
  return batches;
}
