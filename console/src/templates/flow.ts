/** A voice flow as React Flow stores it. Whatever else a node, an edge or the flow has is kept. */
export interface Flow {
  nodes: readonly FlowNode[];
  edges: readonly FlowEdge[];
  viewport: { x: number; y: number; zoom: number };
}

export interface FlowNode {
  id: string;
  type?: string;
  position?: { x: number; y: number };
  data?: Readonly<Record<string, unknown>>;
}

export interface FlowEdge {
  id: string;
  source: string;
  target: string;
  sourceHandle?: string | null;
  label?: unknown;
  data?: Readonly<Record<string, unknown>>;
}

/** What a step can do, with the type under which the editor stores it. */
export const STEP_KINDS = [
  'text',
  'play',
  'pause',
  'gather',
  'record',
  'redirect',
  'hangup',
  'reject',
] as const;
export type StepKind = (typeof STEP_KINDS)[number];

const OTHER_NAMES: Record<string, StepKind> = {
  ...{
    say: 'text',
    speak: 'text',
    speech: 'text',
    tts: 'text',
    message: 'text',
    '': 'text',
    default: 'text',
  },
  ...{ input: 'text', output: 'text', start: 'text', audio: 'play', wait: 'pause', getdigits: 'gather' },
  ...{ menu: 'gather', end: 'hangup' },
};

export function kindOf({ type }: FlowNode): StepKind | undefined {
  const plain = (type ?? '').toLowerCase().replace(/[^a-z0-9]/g, '');
  const name = plain.replace(/node$/, '');
  return STEP_KINDS.find((one) => one === name) ?? OTHER_NAMES[name];
}

/** Settings of each kind, beside label, start and end. */
export const STEP_SETTINGS: Record<StepKind, readonly { key: string; kind: 'text' | 'line' | 'number' }[]> = {
  text: [{ key: 'text', kind: 'text' }],
  play: [{ key: 'url', kind: 'line' }],
  pause: [{ key: 'length', kind: 'number' }],
  gather: [
    { key: 'text', kind: 'text' },
    { key: 'numDigits', kind: 'number' },
    { key: 'timeout', kind: 'number' },
    { key: 'retries', kind: 'number' },
    { key: 'optOutDigits', kind: 'line' },
  ],
  record: [{ key: 'maxLength', kind: 'number' }],
  redirect: [{ key: 'url', kind: 'line' }],
  hangup: [],
  reject: [],
};

export const EMPTY_FLOW: Flow = {
  nodes: [
    {
      id: 'step-1',
      type: 'textNode',
      position: { x: 80, y: 40 },
      data: { label: 'Greeting', text: 'Hello {{NAME}}', isStart: true, isEndNode: true },
    },
  ],
  edges: [],
  viewport: { x: 0, y: 0, zoom: 1 },
};

const GAP = 150;

export function withStep(flow: Flow, kind: StepKind): { flow: Flow; id: string } {
  const id = freeId(flow.nodes, 'step');
  const lowest = Math.max(0, ...flow.nodes.map(({ position }) => position?.y ?? 0));
  const node: FlowNode = {
    id,
    type: `${kind}Node`,
    position: { x: 80, y: lowest + GAP },
    data: { label: '', isStart: flow.nodes.length === 0, isEndNode: kind === 'hangup' },
  };
  return { flow: { ...flow, nodes: [...flow.nodes, node] }, id };
}

export function withoutStep(flow: Flow, id: string): Flow {
  return {
    ...flow,
    nodes: flow.nodes.filter((node) => node.id !== id),
    edges: flow.edges.filter(({ source, target }) => source !== id && target !== id),
  };
}

/** `undefined` takes a setting away. One start only: a new one replaces it. */
export function withSetting(flow: Flow, id: string, key: string, value: unknown): Flow {
  const change = (node: FlowNode): FlowNode => {
    const data: Record<string, unknown> = { ...node.data };
    if (node.id !== id) {
      if (key !== 'isStart' || value !== true || data.isStart !== true) return node;
      return { ...node, data: { ...data, isStart: false } };
    }
    if (value === undefined) delete data[key];
    else data[key] = value;
    return { ...node, data };
  };
  return { ...flow, nodes: flow.nodes.map(change) };
}

export const withNode = (flow: Flow, id: string, changed: Partial<FlowNode>): Flow => ({
  ...flow,
  nodes: flow.nodes.map((node) => (node.id === id ? { ...node, ...changed } : node)),
});

export function withEdge(flow: Flow, source: string, target: string, key?: string): Flow {
  const edge = { id: freeId(flow.edges, 'edge'), source, target, ...(key ? { label: key } : {}) };
  // A step that leads on is no end.
  const joined = withSetting(flow, source, 'isEndNode', false);
  return { ...joined, edges: [...flow.edges, edge] };
}

export const withoutEdge = (flow: Flow, id: string): Flow => ({
  ...flow,
  edges: flow.edges.filter((edge) => edge.id !== id),
});

export const withKey = (flow: Flow, id: string, key: string): Flow => ({
  ...flow,
  edges: flow.edges.map((edge) =>
    edge.id === id
      ? { ...edge, label: key, ...(edge.sourceHandle ? { sourceHandle: key || null } : {}) }
      : edge,
  ),
});

/** The key that leads along an edge; empty: anything else. */
export function keyOf({ sourceHandle, label, data }: FlowEdge): string {
  const told = [sourceHandle, label, data?.label].find((one) => typeof one === 'string' && one !== '');
  return typeof told === 'string' ? told : '';
}

/** What a step is called in lists and on the graph. */
export function nameOfStep(node: FlowNode): string {
  const { label, text, url } = node.data ?? {};
  const said = [label, text, url].find((one) => typeof one === 'string' && one.trim() !== '');
  return typeof said === 'string' ? said.slice(0, 60) : node.id;
}

function freeId(things: readonly { id: string }[], word: string): string {
  let number = things.length + 1;
  while (things.some(({ id }) => id === `${word}-${number}`)) number += 1;
  return `${word}-${number}`;
}
