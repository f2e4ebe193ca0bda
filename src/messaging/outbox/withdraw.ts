import { type Kysely, sql } from 'kysely';
import type { Log } from '../../log';
import type { Provider } from '../../providers/provider';
import type { MessagingTables } from '../model/tables';

/**
 * Takes calls back that ring at a vendor, when their message is canceled or their tag is held. A call in conversation is
 * let finish. The vendor's callback reports what comes of it: `canceled`, or after a hold a call that was not made, so
 * that its campaign calls again later.
 */
export interface Withdrawals {
  ofMessage(workspaceId: string, uid: string): Promise<void>;
  ofTag(workspaceId: string, campaign: string): Promise<void>;
}

interface Ringing {
  provider: string;
  provider_id: string;
}

/** A hand-over that was under way is recorded by then. */
const SECOND_LOOK_MS = 2_000;

export function createWithdrawals(deps: {
  db: Kysely<MessagingTables>;
  providerOf(name: string): Provider | undefined;
  log: Log;
}): Withdrawals {
  const { db, providerOf, log } = deps;

  async function withdraw(why: 'cancel' | 'hold', of: ReturnType<typeof sql>): Promise<void> {
    const { rows } = await sql<Ringing>`
      update vendor_calls v set withdrawn = ${why}
      from messages m
      where m.id = v.message_id and ${of} and v.ended_at is null and v.withdrawn is null
        and m.provider_id is not null and m.state = 'sent'
        and not v.facts @> '[{"kind": "answered"}]'
      returning m.provider, m.provider_id`.execute(db);
    await Promise.all(
      rows.map(async ({ provider, provider_id }) =>
        providerOf(provider)
          ?.withdraw?.(provider_id)
          .catch((error: unknown) =>
            log.warn({ err: error, provider }, 'A ringing call could not be taken back'),
          ),
      ),
    );
  }

  return {
    ofMessage: (workspaceId, uid) =>
      withdraw('cancel', sql`m.workspace_id = ${workspaceId} and m.uid = ${uid}`),
    async ofTag(workspaceId, campaign) {
      const tag = sql`m.workspace_id = ${workspaceId} and m.campaign = ${campaign}`;
      await withdraw('hold', tag);
      setTimeout(() => {
        const held = sql`${tag} and exists (
          select from holds h where h.workspace_id = m.workspace_id and h.campaign = m.campaign)`;
        withdraw('hold', held).catch((error: unknown) =>
          log.warn({ err: error }, 'Ringing calls of a held tag could not be read'),
        );
      }, SECOND_LOOK_MS).unref();
    },
  };
}
