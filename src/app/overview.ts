import type { CampaignTables } from '../campaigns/model/tables';
import { liveCampaigns } from '../campaigns/reports/live-campaigns';
import { stoppedWorkspaces } from '../campaigns/stops/stops';
import { type Account, type AccountState, isOpenTo } from '../domain/account';
import type { AccountStand, Overview } from '../http/overview';
import type { Delivery } from '../messaging/delivery';
import { readLastHour } from '../messaging/events/message-minutes';
import type { MessagingTables } from '../messaging/model/tables';
import { createOutboxOverview } from '../messaging/outbox/outbox-overview';
import type { Tables } from '../storage/storage';

/** Nothing of it reads messages or recipients one by one, so that it is cheap at any size. */
export function createOverview({
  storage,
  delivery,
  accounts,
}: {
  storage: Tables;
  delivery: Pick<Delivery, 'accountStates'>;
  accounts: { list(): Promise<Account[]> };
}): (workspaceId: string) => Promise<Overview> {
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
    return { campaigns, outbox, accounts: own.flatMap((one) => standOf(one, stands)), lastHour };
  };
}

const WORST_FIRST = ['paused', 'throttled', 'ok'] as const;

/** An account with several channels stands as its worst one does. One that could not be opened here has no state. */
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
