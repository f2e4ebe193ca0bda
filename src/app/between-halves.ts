import { type Kysely, sql } from 'kysely';
import type {
  ContactActivity,
  NoticeRule,
  SuppressionEntry,
  SuppressionRule,
} from '../campaigns/model/dependencies';
import type { CampaignTables } from '../campaigns/model/tables';
import { readPolicy } from '../campaigns/policy/policy';
import { liveCampaigns } from '../campaigns/reports/live-campaigns';
import { stoppedWorkspaces } from '../campaigns/stops/stops';
import { type Account, type AccountState, isOpenTo } from '../domain/account';
import { BoundedCache } from '../domain/bounded-cache';
import { LIMITS } from '../domain/limits';
import type { MaybePromise } from '../domain/maybe-promise';
import type { WorkspacePolicy } from '../domain/policy';
import type { AccountStand, Overview } from '../http/overview';
import type { Delivery } from '../messaging/delivery';
import { readLastHour } from '../messaging/events/message-minutes';
import { readMessagesTo } from '../messaging/events/messages-to-person';
import { trackMessages } from '../messaging/events/tracking';
import type { MessagingTables } from '../messaging/model/tables';
import { isTold } from '../messaging/outbox/accept/opt-out-notices';
import type { PolicySource } from '../messaging/outbox/accept/policy-rules';
import { createOutboxOverview } from '../messaging/outbox/outbox-overview';
import { isSuppressed } from '../messaging/suppression/suppression-check';
import { suppressionEntry as entryOf } from '../messaging/suppression/suppression-evidence';
import type { Tables } from '../storage/storage';

/** What one half of the product must know of the other: each is given it as a function, and imports nothing of it. */

/** Whether a number has had the policy's opt-out text, so that a dry run counts segments correctly. */
export const isToldHowToOptOut: NoticeRule = (workspaceId, { from, address }) =>
  isTold(workspaceId, { from, to: address });

/**
 * The workspace's policy for the messaging half, which asks for every message. It is cached for a moment, so
 * that a change takes effect in every process within that time. If the policy cannot be read, the message
 * waits, because sending a forbidden message would be worse.
 */
export function policySource(db: Kysely<CampaignTables>, now: () => number = Date.now): PolicySource {
  const known = new BoundedCache<{ policy: MaybePromise<WorkspacePolicy | undefined>; readAt: number }>(
    LIMITS.authCacheEntries,
  );
  return (workspaceId) => {
    const kept = known.get(workspaceId);
    // A clock that was set back would keep it until the clock is there again.
    if (kept && Math.abs(now() - kept.readAt) < LIMITS.policyCacheMs) return kept.policy;
    const reading = readPolicy(db, workspaceId);
    const entry: { policy: MaybePromise<WorkspacePolicy | undefined>; readAt: number } = {
      policy: reading,
      readAt: now(),
    };
    known.set(workspaceId, entry);
    reading.then(
      (policy) => {
        entry.policy = policy;
      },
      () => known.delete(workspaceId),
    );
    return reading;
  };
}

/**
 * The suppression rule of the messaging half, for the statement that freezes an audience. It applies whichever
 * service a campaign uses, because the list belongs to the workspace. A service without the list would write to
 * people who asked this workspace to stop.
 */
export const suppression: SuppressionRule = (workspaceId, { channel, from, address }) =>
  isSuppressed(workspaceId, { channel: sql`${channel}::text`, from: sql`${from}::text`, to: address });

/** The entry behind the rule's answer. */
export const suppressionEntry: SuppressionEntry = (workspaceId, { channel, from, address }) =>
  entryOf(workspaceId, { channel, to: address, from });

/**
 * What the messaging half of this installation knows. For messages that went through another service, its
 * events are in the ledger.
 */
export function contactActivity(db: Kysely<MessagingTables>): ContactActivity {
  return {
    async messagesOf(workspaceId, uids) {
      const messages = await trackMessages(db, workspaceId, uids);
      return messages.map(({ uid, state, code, events }) => ({
        uid,
        state,
        code: code ?? null,
        events: events.map((event) => ({
          at: event.at,
          type: event.type,
          state: event.state,
          ...(event.code === undefined ? {} : { code: event.code }),
        })),
      }));
    },
    messagesTo: (person, page) => readMessagesTo(db, person, page),
    async suppressionsOf(workspaceId, addresses) {
      if (addresses.length === 0) return [];
      const rows = await db
        .selectFrom('suppressions')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('address', '=', sql<string>`any(${addresses}::text[])`)
        .orderBy('updated_at', 'desc')
        .limit(LIMITS.timelineBlocks)
        .execute();
      return rows.map(({ id, channel, address, sender, reason, source, created_at, updated_at }) => ({
        id,
        channel,
        address,
        sender,
        reason,
        source,
        since: created_at,
        changedAt: updated_at,
      }));
    },
    async liftedOf(workspaceId, addresses) {
      if (addresses.length === 0) return [];
      const rows = await db
        .selectFrom('lifted_suppressions')
        .selectAll()
        .where('workspace_id', '=', workspaceId)
        .where('address', '=', sql<string>`any(${addresses}::text[])`)
        .orderBy('lifted_at', 'desc')
        .limit(addresses.length * LIMITS.liftedBlocks)
        .execute();
      return rows.map(
        ({ id, channel, address, sender, reason, source, blocked_at, lifted_at, lifted_by }) => ({
          id,
          channel,
          address,
          sender,
          reason,
          source,
          since: blocked_at,
          liftedAt: lifted_at,
          liftedBy: lifted_by,
        }),
      );
    },
  };
}

/** Nothing of it reads messages or recipients one by one, so that it is cheap at any size. */
export function createOverview({
  storage,
  delivery,
  accounts,
}: {
  storage: Tables;
  delivery: Pick<Delivery, 'accountStates' | 'accountFault'>;
  accounts: { list(): Promise<Account[]> };
}): (workspaceId: string) => Promise<Overview> {
  const startedAt = new Date().toISOString();
  const messaging = storage.tables<MessagingTables>();
  const outboxOf = createOutboxOverview(messaging, stoppedWorkspaces);
  return async (workspaceId) => {
    const [campaigns, outbox, known, stands, lastHour] = await Promise.all([
      liveCampaigns(storage.tables<CampaignTables>(), workspaceId),
      outboxOf(workspaceId),
      accounts.list(),
      delivery.accountStates(),
      readLastHour(messaging, workspaceId),
    ]);
    const own = known.filter((account) => !account.disabled && isOpenTo(account, workspaceId));
    const standOfOne = (account: Account) => {
      const fault = delivery.accountFault(account.id);
      return fault === undefined ? standOf(account, stands) : [unopened(account, fault, startedAt)];
    };
    return { campaigns, outbox, accounts: own.flatMap(standOfOne), lastHour };
  };
}

const WORST_FIRST = ['paused', 'throttled', 'ok'] as const;

/** An account that this process could not open, such as one whose secrets cannot be read. */
const unopened = ({ id, name, kind }: Account, reason: string, since: string): AccountStand => ({
  ...{ id, name, kind, state: 'paused', reason, since },
});

/** An account with several channels stands as its worst one does. */
function standOf(
  { id, name, kind }: Account,
  stands: readonly (AccountState & { since: string })[],
): AccountStand[] {
  const [worst] = stands
    .filter((stand) => stand.account === id)
    .sort((one, other) => WORST_FIRST.indexOf(one.state) - WORST_FIRST.indexOf(other.state));
  if (!worst) return [];
  const { state, reason, since } = worst;
  return [{ id, name, kind, state, ...(reason === undefined ? {} : { reason }), since }];
}
