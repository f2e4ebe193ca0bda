/**
 * Orders items so that groups take turns: first one item of each group, then a second one of each that has
 * more. Within a group, and among groups at the same turn, the cheapest item comes first.
 */
export function inTurns<T>(
  items: readonly T[],
  { groupOf, costOf }: { groupOf(item: T): string; costOf(item: T): number },
): T[] {
  const sizes = new Map<string, number>();
  const costs = new Map<string, number>();
  for (const item of items) {
    const group = groupOf(item);
    costs.set(group, (costs.get(group) ?? 0) + costOf(item));
  }
  return items
    .map((item) => ({ item, group: groupOf(item), cost: costOf(item) }))
    .sort((a, b) => a.cost - b.cost)
    .map((one) => {
      const turn = sizes.get(one.group) ?? 0;
      sizes.set(one.group, turn + 1);
      return { ...one, turn };
    })
    .sort((a, b) => a.turn - b.turn || (costs.get(a.group) ?? 0) - (costs.get(b.group) ?? 0))
    .map(({ item }) => item);
}
