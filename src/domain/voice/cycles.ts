/**
 * The cycles of a directed graph: its strongly connected components that have one (Tarjan 1972), each in
 * ascending order of its nodes. It keeps its own stack instead of recursing, because a sender may give a chain
 * of nodes of any length.
 */
export function findCycles(successors: readonly (readonly number[])[]): number[][] {
  const index: (number | undefined)[] = [];
  const low: number[] = [];
  const onStack: boolean[] = [];
  const stack: number[] = [];
  const cycles: number[][] = [];
  let counter = 0;

  const enter = (node: number): { node: number; next: number } => {
    index[node] = low[node] = counter++;
    stack.push(node);
    onStack[node] = true;
    return { node, next: 0 };
  };
  const lower = (node: number, value: number): void => {
    low[node] = Math.min(low[node] as number, value);
  };

  for (let start = 0; start < successors.length; start += 1) {
    if (index[start] !== undefined) continue;
    const path = [enter(start)];
    for (let here = path.at(-1); here; here = path.at(-1)) {
      const { node } = here;
      const successor = successors[node]?.[here.next];
      here.next += 1;
      if (successor !== undefined) {
        const seen = index[successor];
        if (seen === undefined) path.push(enter(successor));
        else if (onStack[successor]) lower(node, seen);
        continue;
      }
      path.pop();
      const parent = path.at(-1);
      if (parent) lower(parent.node, low[node] as number);
      if (low[node] !== index[node]) continue;
      const component = stack.splice(stack.lastIndexOf(node));
      for (const member of component) onStack[member] = false;
      const isCycle = component.length > 1 || successors[node]?.includes(node);
      if (isCycle) cycles.push(component.sort((a, b) => a - b));
    }
  }
  return cycles.sort((a, b) => (a[0] as number) - (b[0] as number));
}
