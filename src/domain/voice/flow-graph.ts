import type { FieldCode } from '../field-codes';
import { LIMITS } from '../limits';
import type { Findings } from './findings';
import { type NodeKind, nodeKind } from './flow-nodes';
import { type BranchInput, KEYS } from './program';

/** The parts of a flow that matter to a call, without the editor's own. */
export interface FlowGraph {
  nodes: readonly FlowNode[];
  /** Each node's edges, by the node's index: each edge once, in the order they came. */
  edgesFrom: readonly (readonly FlowEdge[])[];
  edgesInto: readonly number[];
}

export interface FlowNode {
  /** Index in the flow's `nodes`. */
  index: number;
  id: string;
  kind: NodeKind;
  data: Readonly<Record<string, unknown>>;
}

export interface FlowEdge {
  index: number;
  source: number;
  target: number;
  /** The input that takes this edge; `undefined`: any input without an edge of its own. */
  on: BranchInput | undefined;
  optOut: boolean;
}

/** `undefined` when it is no flow or too large a one; a finding then says so. */
export function readFlow(flow: unknown, findings: Findings): FlowGraph | undefined {
  const nodes = listOf(flow, 'nodes', LIMITS.voiceFlowNodes, findings);
  const edges = listOf(flow, 'edges', LIMITS.voiceFlowEdges, findings);
  if (!nodes || !edges) return undefined;
  if (isLongerThan(flow, LIMITS.voiceFlowChars)) {
    const message = `A flow has at most ${LIMITS.voiceFlowChars} characters`;
    findings.add({ path: 'voiceJson', code: 'too_long', message, severity: 'error' });
    return undefined;
  }
  // By index, because a list may have holes.
  const read = Array.from(nodes, (node, index) => readNode(node, index, findings));
  const indexes = new Map<string, number>();
  for (const { id, index } of read) {
    if (!indexes.has(id)) indexes.set(id, index);
    else if (id !== '') {
      refuse(findings, `voiceJson.nodes.${index}.id`, 'duplicate_id', `Another node has the id ${short(id)}`);
    }
  }
  const edgesFrom: FlowEdge[][] = read.map(() => []);
  const edgesInto = read.map(() => 0);
  for (const [index, edge] of edges.entries()) {
    const joined = readEdge(edge, index, indexes, findings);
    if (!joined) continue;
    const siblings = edgesFrom[joined.source] as FlowEdge[];
    // Editors leave duplicate edges behind.
    if (siblings.some(({ target, on }) => target === joined.target && on === joined.on)) continue;
    siblings.push(joined);
    edgesInto[joined.target] = (edgesInto[joined.target] as number) + 1;
  }
  return { nodes: read, edgesFrom, edgesInto };
}

function listOf(
  flow: unknown,
  name: 'nodes' | 'edges',
  max: number,
  findings: Findings,
): unknown[] | undefined {
  const list = isObject(flow) ? flow[name] : undefined;
  const path = `voiceJson.${name}`;
  if (!Array.isArray(list)) refuse(findings, path, 'invalid_type', 'This must be a list');
  else if (list.length > max) refuse(findings, path, `too_many_${name}`, `${list.length}; at most ${max}`);
  else return list;
  return undefined;
}

function readNode(node: unknown, index: number, findings: Findings): FlowNode {
  const path = `voiceJson.nodes.${index}`;
  const whole = isObject(node) ? node : {};
  if (!isObject(node)) refuse(findings, path, 'invalid_type', 'A node is an object');
  else if (typeof node.id !== 'string' || node.id === '') {
    refuse(findings, `${path}.id`, 'invalid_type', 'A node’s id is a text');
  }
  const data = whole.data ?? {};
  if (!isObject(data)) refuse(findings, `${path}.data`, 'invalid_type', 'A node’s data is an object');
  const kind = nodeKind(whole.type);
  if (!kind) {
    const message = `No known type of node: ${typeof whole.type === 'string' ? short(whole.type) : 'no text'}; it is kept`;
    findings.add({ path: `${path}.type`, code: 'unknown_node_type', message, severity: 'warning' });
  }
  return {
    index,
    id: typeof whole.id === 'string' ? whole.id : '',
    kind: kind ?? 'plain',
    data: isObject(data) ? data : {},
  };
}

function readEdge(
  edge: unknown,
  index: number,
  nodes: ReadonlyMap<string, number>,
  findings: Findings,
): FlowEdge | undefined {
  const path = `voiceJson.edges.${index}`;
  const whole = isObject(edge) ? edge : {};
  const end = (name: 'source' | 'target'): number | undefined => {
    const id = whole[name];
    const found = typeof id === 'string' ? nodes.get(id) : undefined;
    if (found === undefined) {
      const message = typeof id === 'string' ? `There is no node ${short(id)}` : 'This must be a node’s id';
      refuse(findings, `${path}.${name}`, 'unknown_node', message);
    }
    return found;
  };
  const source = end('source');
  const target = end('target');
  if (source === undefined || target === undefined) return undefined;
  const data = isObject(whole.data) ? whole.data : {};
  const told = [whole.sourceHandle, whole.label, data.label].map(branchInput).find((on) => on !== undefined);
  return { index, source, target, on: told, optOut: data.optOut === true };
}

const WORDS = new Map<string, BranchInput>([
  ['timeout', 'timeout'],
  ['noinput', 'timeout'],
  ['nomatch', 'nomatch'],
  ['invalid', 'nomatch'],
]);

/** Reads "1", "press 1", "digit-1", "timeout", "no match" and similar names, because editors name handles freely. */
function branchInput(told: unknown): BranchInput | undefined {
  if (typeof told !== 'string' && typeof told !== 'number') return undefined;
  const text = String(told).slice(0, 40).trim().toLowerCase();
  const key = /^(?:(?:press|digit|key|dtmf|option)[\s:_-]*)?([0-9*#])$/.exec(text)?.[1];
  return KEYS.find((one) => one === key) ?? WORDS.get(text.replace(/[\s_-]/g, ''));
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const short = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);

function refuse(findings: Findings, path: string, code: FieldCode, message: string): void {
  findings.add({ path, code, message, severity: 'error' });
}

/**
 * Approximates the length as JSON. It keeps its own list instead of recursing, because nesting may be of any
 * depth.
 */
function isLongerThan(root: unknown, charsMax: number): boolean {
  let chars = 0;
  const waiting: unknown[] = [root];
  while (waiting.length > 0 && chars <= charsMax) {
    const value = waiting.pop();
    if (typeof value === 'string') chars += value.length + 2;
    else if (typeof value !== 'object' || value === null) chars += 5;
    else {
      for (const [key, child] of Object.entries(value)) {
        chars += key.length + 4;
        waiting.push(child);
      }
    }
  }
  return chars > charsMax;
}
