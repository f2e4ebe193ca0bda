import { type Kysely, sql } from 'kysely';
import { LIMITS } from '../../domain/limits';
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
  /** A process that was to ask again has ended: this one does, for all that is canceled or held. */
  resume(): void;
}

interface Ringing {
  provider: string;
  provider_id: string;
}

/** A call that was being asked for is recorded by then, and a carrier that could not be asked is asked again. */
const LOOKS_AFTER_MS = [2_000, 10_000, LIMITS.vendorAnswerMs + 5_000];

export function createWithdrawals(deps: {
  db: Kysely<MessagingTables>;
  providerOf(name: string): Provider | undefined;
  log: Log;
}): Withdrawals {
  const { db, providerOf, log } = deps;
  /** The first look of a resume is still to come, and finds what others would. */
  let isResumed = false;

  /**
   * Asks for each of them that still rings, also if it was asked before: it would have ended, had its carrier done so. One that
   * is canceled while it is being asked for is noted for a later look, which may be another process's.
   */
  async function withdraw(why: 'cancel' | 'hold', of: ReturnType<typeof sql>): Promise<void> {
    const { rows } = await sql<Ringing>`
      with noted as (
        update vendor_calls v set withdrawn = case when v.withdrawn = 'cancel' then 'cancel' else ${why} end
        from messages m
        where m.id = v.message_id and ${of} and v.ended_at is null
          and (m.state = 'sent' or ${why === 'cancel'}::boolean and m.state in ('scheduled', 'accepted', 'unknown'))
          and not v.facts @> '[{"kind": "answered"}]'
        returning m.provider, m.provider_id, m.state
      )
      select provider, provider_id from noted where provider_id is not null and state = 'sent'`.execute(db);
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

  function lookAgain(why: 'cancel' | 'hold', of: ReturnType<typeof sql>): void {
    for (const afterMs of LOOKS_AFTER_MS) {
      setTimeout(() => {
        withdraw(why, of).catch((error: unknown) =>
          log.warn({ err: error }, 'Ringing calls that are to be taken back could not be read'),
        );
      }, afterMs).unref();
    }
  }

  return {
    async ofMessage(workspaceId, uid) {
      const own = sql`m.workspace_id = ${workspaceId} and m.uid = ${uid}`;
      await withdraw('cancel', own);
      if (await mayRing(db, own)) lookAgain('cancel', own);
    },
    async ofTag(workspaceId, campaign) {
      const tag = sql`m.workspace_id = ${workspaceId} and m.campaign = ${campaign}`;
      await withdraw('hold', tag);
      lookAgain('hold', sql`${tag} and ${isHeld}`);
    },
    resume() {
      // A process that ended leaves several partitions, which are adopted one after the other.
      if (isResumed) return;
      isResumed = true;
      setTimeout(() => {
        isResumed = false;
      }, LOOKS_AFTER_MS[0]).unref();
      lookAgain('cancel', sql`v.withdrawn = 'cancel'`);
      lookAgain('hold', isHeld);
    },
  };
}

const isHeld = sql`exists (
  select from holds h where h.workspace_id = m.workspace_id and h.campaign = m.campaign)`;

async function mayRing(db: Kysely<MessagingTables>, of: ReturnType<typeof sql>): Promise<boolean> {
  const { rows } = await sql`
    select from messages m
    where ${of} and m.channel = 'voice' and m.state in ('scheduled', 'accepted', 'sent')`.execute(db);
  return rows.length > 0;
}
