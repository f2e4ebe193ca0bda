import { isOfKind } from '../../domain/account';
import { changeBy, type ReceiptTarget } from './receipt-change';
import { type Change, type FromProvider, foreignKey, type Targets } from './receipt-rows';

export const isHandedOver = (target: ReceiptTarget) =>
  target.state !== 'scheduled' && target.state !== 'accepted';

export function targetOf(from: FromProvider, targets: Targets): ReceiptTarget | undefined {
  const { id } = from.receipt;
  return id === undefined ? targets.byProviderId.get(foreignKey(from)) : targets.byId.get(id);
}

/**
 * What each receipt changes. A message takes one change at a time, so that its other receipts come `later`.
 * `early` are receipts whose hand-over is not recorded yet.
 */
export function sortReceipts(receipts: readonly FromProvider[], targets: Targets) {
  const changes: (Change & { from: FromProvider })[] = [];
  const early: FromProvider[] = [];
  const later: FromProvider[] = [];
  const taken = new Set<string>();
  for (const from of receipts) {
    const target = targetOf(from, targets);
    if (!target) {
      // Our ids exist before a provider learns them; a provider's own id may come before our record of it.
      if (from.receipt.id === undefined) early.push(from);
    } else if (taken.has(target.id)) {
      later.push(from);
    } else if (!isHandedOver(target)) {
      early.push(from);
    } else if (isOfKind(target.provider ?? '', from.provider)) {
      const event = changeBy(target, from.receipt);
      if (event) {
        taken.add(target.id);
        const { id, providerId } = from.receipt;
        changes.push({ target, event, from, providerId: id === undefined ? undefined : providerId });
      }
    }
  }
  return { changes, early, later };
}

export function byWorkspace<T extends Change>(changes: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const change of changes) {
    const group = groups.get(change.target.workspace_id);
    if (group) group.push(change);
    else groups.set(change.target.workspace_id, [change]);
  }
  return groups;
}
