import type { SmtpRelay } from './smtp-relay';

/**
 * Which relay carries the next message: by weight in turn, so that ten messages over relays of weights 3 and
 * 2 are six and four; but none waits behind others while a relay has connections to spare.
 */
export function createRelayChoice(relays: readonly SmtpRelay[], connections: number) {
  const credit = new Map(relays.map((relay) => [relay, 0]));

  return (tried: ReadonlySet<SmtpRelay>): SmtpRelay | undefined => {
    const left = relays.filter((relay) => !tried.has(relay));
    const healthy = left.filter((relay) => relay.trouble === undefined);
    const usable = healthy.length > 0 ? healthy : left;
    const idle = usable.filter((relay) => relay.load < connections);
    if (idle.length === 0) return leastLoaded(usable);
    const total = idle.reduce((sum, relay) => sum + relay.address.weight, 0);
    for (const relay of idle) credit.set(relay, (credit.get(relay) ?? 0) + relay.address.weight);
    const chosen = idle.reduce((best, relay) =>
      (credit.get(relay) ?? 0) > (credit.get(best) ?? 0) ? relay : best,
    );
    credit.set(chosen, (credit.get(chosen) ?? 0) - total);
    return chosen;
  };
}

function leastLoaded(relays: readonly SmtpRelay[]): SmtpRelay | undefined {
  const share = (relay: SmtpRelay) => (relay.load + 1) / relay.address.weight;
  return relays.reduce<SmtpRelay | undefined>(
    (best, relay) => (best === undefined || share(relay) < share(best) ? relay : best),
    undefined,
  );
}
