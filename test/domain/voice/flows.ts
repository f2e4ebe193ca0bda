/** A flow as the editor exports it, from the little that matters in a test. */
export function node(id: string, type: string, data: Record<string, unknown> = {}) {
  return { id, type, position: { x: 0, y: 0 }, data };
}

export function edge(source: string, target: string, sourceHandle: string | null = null) {
  return { id: `${source}-${target}-${sourceHandle}`, source, target, sourceHandle, targetHandle: null };
}

export function flowOf(nodes: unknown[], edges: unknown[] = []) {
  return { nodes, edges, viewport: { x: 0, y: 0, zoom: 1 } };
}

/** Node by node as version 11 of React Flow exports it, with the keys that the specification names. */
export const VERSION_11 = flowOf(
  [
    {
      id: '1',
      type: 'textNode',
      position: { x: 250, y: 5 },
      markerEnd: { type: 'arrowclosed' },
      Icon: 'ChatIcon',
      data: { label: 'Greeting', isStart: true, isEndNode: false, text: 'Hello {{NAME}}, this is a test.' },
      width: 180,
      height: 64,
      positionAbsolute: { x: 250, y: 5 },
      selected: false,
      dragging: false,
    },
    {
      id: '2',
      type: 'textNode',
      position: { x: 250, y: 150 },
      data: { label: 'End', isStart: false, isEndNode: true, text: 'Good bye.' },
      width: 180,
      height: 64,
      positionAbsolute: { x: 250, y: 150 },
    },
  ],
  [
    {
      id: 'reactflow__edge-1-2',
      source: '1',
      target: '2',
      sourceHandle: null,
      targetHandle: null,
      type: 'smoothstep',
      animated: true,
      markerEnd: { type: 'arrowclosed' },
    },
  ],
);

/** The same by version 12. */
export const VERSION_12 = flowOf(
  VERSION_11.nodes.map((one) => {
    const { width, height, positionAbsolute, ...rest } = one as Record<string, unknown>;
    return { ...rest, measured: { width, height }, origin: [0, 0] };
  }),
  [{ id: 'xy-edge__1-2', source: '1', target: '2' }],
);

/** Asks, repeats when nothing was pressed, connects two ways on, and takes no for an answer. */
export const MENU = flowOf(
  [
    node('start', 'text', { isStart: true, text: 'Hello {{NAME}}.' }),
    node('menu', 'gather', {
      text: 'Press 1 to hear more, 9 to never hear from us.',
      timeout: 4,
      retries: 1,
    }),
    node('more', 'play', { url: 'https://example.com/{{FILE}}.mp3' }),
    node('bye', 'text', { text: 'Good bye.', isEndNode: true }),
    node('out', 'text', { text: 'You will not be called again.', isEndNode: true }),
  ],
  [
    edge('start', 'menu'),
    edge('menu', 'more', '1'),
    { ...edge('menu', 'out'), label: 'press 9', data: { optOut: true } },
    edge('menu', 'menu', 'timeout'),
    edge('menu', 'bye', 'no match'),
    edge('more', 'bye'),
  ],
);
