import type { ValidationIssue } from '../validation-issue';
import { findCycles } from './cycles';
import { Findings } from './findings';
import { type FlowGraph, type FlowNode, readFlow } from './flow-graph';
import { stepOf } from './flow-steps';
import { TERMINALS } from './verbs';

/**
 * Checks a React Flow flow of version 11 or 12 and returns all problems (api.md 5, docs/voice.md). Never
 * throws, whatever it is given; linear in the size of the flow.
 */
export const checkFlow = (flow: unknown): ValidationIssue[] => examineFlow(flow).findings.all(moreInFlow);

export interface ExaminedFlow {
  /** `undefined` when there is no flow, or not exactly one start. */
  flow: { graph: FlowGraph; start: FlowNode } | undefined;
  findings: Findings;
}

export function examineFlow(flow: unknown): ExaminedFlow {
  const findings = new Findings();
  const graph = readFlow(flow, findings);
  if (!graph) return { flow: undefined, findings };
  for (const node of graph.nodes) {
    stepOf(node, findings);
    checkEnds(node, graph, findings);
  }
  const starts = startsOf(graph, findings);
  checkReachable(graph, starts, findings);
  checkLoops(graph, findings);
  const [start, ...others] = starts;
  return { flow: start && others.length === 0 ? { graph, start } : undefined, findings };
}

function startsOf({ nodes }: FlowGraph, findings: Findings): FlowNode[] {
  const starts = nodes.filter((node) => node.data.isStart === true);
  if (starts.length === 0) {
    const message = 'No node is the start: exactly one has isStart in its data';
    findings.add({ path: 'voiceJson.nodes', code: 'no_start', message, severity: 'error' });
  }
  for (const { index } of starts.slice(1)) {
    const message = `Node ${starts[0]?.index} is the start already`;
    const path = `voiceJson.nodes.${index}.data.isStart`;
    findings.add({ path, code: 'several_starts', message, severity: 'error' });
  }
  return starts;
}

/** Checks a node's edges, because a call must continue at exactly one place. */
function checkEnds(node: FlowNode, { edgesFrom }: FlowGraph, findings: Findings): void {
  const edges = edgesFrom[node.index] ?? [];
  const path = `voiceJson.nodes.${node.index}`;
  const taken = new Map<string, number>();
  for (const { index, on, target } of edges) {
    const input = node.kind === 'Gather' ? (on ?? 'anything else') : 'this node';
    const before = taken.get(input);
    if (before === undefined) taken.set(input, target);
    else if (before !== target) {
      const message = `Two edges lead on from ${input}, to different nodes`;
      findings.add({ path: `voiceJson.edges.${index}`, code: 'ambiguous_edges', message, severity: 'error' });
    }
  }
  const ends = node.data.isEndNode === true || TERMINALS.has(node.kind);
  if (ends && edges.length > 0) {
    const message = TERMINALS.has(node.kind)
      ? 'The call ends here; the edges that lead on are not taken'
      : 'An end node has edges that lead on; they are taken';
    findings.add({ path, code: 'end_with_edges', message, severity: 'warning' });
  } else if (!ends && edges.length === 0 && node.kind !== 'group') {
    const message = 'No edge leads on and this is no end node; the call ends here';
    findings.add({ path, code: 'implicit_end', message, severity: 'warning' });
  }
}

function checkReachable({ nodes, edgesFrom }: FlowGraph, starts: FlowNode[], findings: Findings): void {
  if (starts.length === 0) return;
  const reached = new Set(starts.map(({ index }) => index));
  const waiting = [...reached];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    for (const { target } of edgesFrom[next] ?? []) {
      if (!reached.has(target)) waiting.push(target);
      reached.add(target);
    }
  }
  for (const { index, kind } of nodes) {
    // A frame that an editor draws around nodes.
    if (reached.has(index) || kind === 'group') continue;
    const message = 'No path leads here from the start';
    const path = `voiceJson.nodes.${index}`;
    findings.add({ path, code: 'unreachable_node', message, severity: 'error' });
  }
}

function checkLoops({ nodes, edgesFrom }: FlowGraph, findings: Findings): void {
  const unattended = nodes.map(({ index, kind }) =>
    kind === 'Gather' ? [] : (edgesFrom[index] ?? []).map((edge) => edge.target),
  );
  for (const cycle of findCycles(unattended)) {
    const ids = cycle.slice(0, 5).map((index) => nodes[index]?.id.slice(0, 60));
    const more = cycle.length > 5 ? ` and ${cycle.length - 5} more` : '';
    const message = `A loop without a gather: ${ids.join(', ')}${more}`;
    const path = `voiceJson.nodes.${cycle[0]}`;
    findings.add({ path, code: 'loop_without_gather', message, severity: 'error' });
  }
}

export const moreInFlow = (message: string, severity: ValidationIssue['severity']): ValidationIssue => ({
  path: 'voiceJson',
  code: 'more_findings',
  message,
  severity,
});
