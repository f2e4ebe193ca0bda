import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import type { Erasure, SuppressErased } from '../campaigns/contacts/erase-contact';
import { eraseTraces, markErased, openErasures } from '../campaigns/contacts/erase-contact';
import type { CampaignTables } from '../campaigns/model/tables';
import { LIMITS } from '../domain/limits';
import type { Log } from '../log';
import type { Delivery } from '../messaging/delivery';
import type { MessagingTables } from '../messaging/model/tables';
import { countWaiting, eraseMessages } from '../messaging/outbox/erase-messages';
import { eraseAddresses, suppressErased as suppress } from '../messaging/suppression/erased-address';
import type { Tables } from '../storage/storage';

/** The messaging half's list, in the transaction of the campaigns' half: both are tables of one database. */
export const suppressErased: SuppressErased = (tx, workspaceId, addresses) =>
  suppress(tx as unknown as Kysely<MessagingTables>, workspaceId, addresses);

export interface Erasures {
  /** Works on what is there now; joins a round that is under way. */
  look(): Promise<void>;
  stop(): void;
}

/**
 * Erases persons from all that either half keeps, in small steps, from the rows that say who is to be erased. Every
 * process may do it, and all steps can be repeated: one that was killed leaves the row, and the next look begins again.
 *
 * An erasure is done when a look finds nothing more, and is old enough that no statement which was under way when it
 * began can still write the address.
 */
export function keepErasing({
  storage,
  delivery,
  cancelSend,
  log,
}: {
  storage: Tables;
  delivery: Pick<Delivery, 'cancelWaiting'>;
  cancelSend: (workspaceId: string, sendId: string) => Promise<unknown>;
  log: Log;
}): Erasures {
  const campaigns = storage.tables<CampaignTables>();
  const messaging = storage.tables<MessagingTables>();
  let stopped = false;
  let looking: Promise<void> | undefined;

  async function erase(erasure: Erasure & { ageMs: number }): Promise<void> {
    let left = await eraseTraces(campaigns, erasure, cancelSend);
    while (!stopped && (await delivery.cancelWaiting(erasure)) > 0) await rest();
    while (!stopped && (await eraseMessages(messaging, erasure)) > 0) await rest();
    left += await countWaiting(messaging, erasure);
    await eraseAddresses(messaging, erasure);
    if (!stopped && left === 0 && erasure.ageMs > LIMITS.erasureSettleMs)
      await markErased(campaigns, erasure);
  }

  /** All of them, because those that wait for the end of a message may be many, and wait for hours. */
  async function lookAtAll(): Promise<void> {
    for (let after: string | undefined = ''; after !== undefined; ) {
      const some = await openErasures(campaigns, after);
      for (const erasure of some) {
        if (stopped) return;
        // One that fails must not keep the others from being erased.
        await erase(erasure).catch((error: unknown) =>
          log.warn({ err: error, erasure: erasure.id }, 'A person could not be erased wholly; trying again'),
        );
      }
      after = some.at(-1)?.id;
    }
  }

  function look(): Promise<void> {
    looking ??= lookAtAll().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  const timer = setInterval(
    () =>
      look().catch((error: unknown) => log.warn({ err: error }, 'Erasures could not be read; trying again')),
    LIMITS.erasureLookMs,
  );
  timer.unref();

  return {
    look,
    stop() {
      stopped = true;
      clearInterval(timer);
    },
  };
}

/** A pause between two steps, because requests use the same database. */
const rest = () => delay(LIMITS.retentionPauseMs, undefined, { ref: false });
