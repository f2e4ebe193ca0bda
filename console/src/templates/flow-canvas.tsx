import {
  Background,
  Controls,
  type Edge,
  Handle,
  type Node,
  type NodeChange,
  type NodeProps,
  Position,
  ReactFlow,
  useNodesInitialized,
  useReactFlow,
} from '@xyflow/react';
import { useEffect, useMemo } from 'react';
import { useReadOnly } from '../design/read-only';
import { chosenTheme } from '../shell/theme';
import { TEXTS } from '../texts';
import { type Flow, keyOf, kindOf, nameOfStep, withEdge, withNode, withoutEdge, withoutStep } from './flow';
import '@xyflow/react/dist/style.css';

const { flow: texts } = TEXTS;

interface FlowCanvasProps {
  flow: Flow;
  chosen: string | undefined;
  /** By the node's index. */
  findings: ReadonlyMap<number, string>;
  onChoose(id: string): void;
  onChange(flow: Flow): void;
}

type StepNode = Node<{
  name: string;
  kind: string;
  marks: string;
  wrong: string | undefined;
  isChosen: boolean;
}>;

/** The steps of a call and where each leads, to be moved and joined. */
export function FlowCanvas({ flow, chosen, findings, onChoose, onChange }: FlowCanvasProps) {
  const isReadOnly = useReadOnly();
  const nodes = useMemo(
    () =>
      flow.nodes.map((node, index) =>
        stepNode(node, { index, wrong: findings.get(index), isChosen: node.id === chosen }),
      ),
    [flow.nodes, findings, chosen],
  );
  const edges = useMemo(
    () =>
      flow.edges.map(
        (edge): Edge => ({ id: edge.id, source: edge.source, target: edge.target, label: keyOf(edge) }),
      ),
    [flow.edges],
  );
  const change = (changes: NodeChange<StepNode>[]) => {
    let next = flow;
    for (const one of changes) {
      if (one.type === 'position' && one.position) next = withNode(next, one.id, { position: one.position });
      if (one.type === 'remove') next = withoutStep(next, one.id);
      if (one.type === 'select' && one.selected) onChoose(one.id);
    }
    if (next !== flow) onChange(next);
  };
  return (
    <div className={`flow ${HEIGHTS[flow.nodes.length] ?? ''}`}>
      <ReactFlow
        aria-label={texts.graph}
        nodes={nodes}
        edges={edges}
        nodeTypes={NODE_TYPES}
        colorMode={chosenTheme()}
        fitView
        fitViewOptions={FIT}
        minZoom={0.2}
        // The page scrolls with the wheel; the buttons zoom.
        zoomOnScroll={false}
        preventScrolling={false}
        proOptions={{ hideAttribution: true }}
        nodesDraggable={!isReadOnly}
        nodesConnectable={!isReadOnly}
        deleteKeyCode={isReadOnly ? null : 'Backspace'}
        onNodesChange={change}
        onEdgesDelete={(gone) => onChange(gone.reduce((next, { id }) => withoutEdge(next, id), flow))}
        onConnect={({ source, target }) => onChange(withEdge(flow, source, target))}
      >
        <Background />
        <Controls showInteractive={false} />
        <KeepInView steps={nodes.length} />
      </ReactFlow>
    </div>
  );
}

function stepNode(
  node: Flow['nodes'][number],
  { index, wrong, isChosen }: { index: number; wrong: string | undefined; isChosen: boolean },
): StepNode {
  const kind = kindOf(node);
  const marks = [node.data?.isStart === true && texts.isStart, node.data?.isEndNode === true && texts.isEnd];
  const name = nameOfStep(node);
  const kindName = kind ? texts.kinds[kind] : (node.type ?? '');
  return {
    id: node.id,
    type: 'step',
    position: node.position ?? { x: 0, y: index * 150 },
    ariaLabel: `${kindName}: ${name}`,
    data: {
      name,
      kind: kindName,
      marks: marks.filter(Boolean).join(' · '),
      wrong,
      isChosen,
    },
  };
}

const FIT = { maxZoom: 1 };
/** By the number of steps, because one alone is lost in a field made for ten. */
const HEIGHTS: Record<number, string> = { 0: 'low', 1: 'low', 2: 'half' };

/** A step that is added changes the height and may lie outside of what is shown. */
function KeepInView({ steps }: { steps: number }) {
  const { fitView } = useReactFlow();
  const areMeasured = useNodesInitialized();
  // biome-ignore lint/correctness/useExhaustiveDependencies: it is their number that matters
  useEffect(() => {
    if (areMeasured) void fitView(FIT);
  }, [areMeasured, steps, fitView]);
  return null;
}

function Step({ data: { name, kind, marks, wrong, isChosen } }: NodeProps<StepNode>) {
  return (
    <div className={`flow-step${isChosen ? ' chosen' : ''}${wrong ? ' wrong' : ''}`}>
      <Handle type="target" position={Position.Top} />
      <div className="muted small">
        {kind}
        {marks && ` · ${marks}`}
      </div>
      <p>{name}</p>
      {wrong && <p className="tone-bad">{wrong}</p>}
      <Handle type="source" position={Position.Bottom} />
    </div>
  );
}

const NODE_TYPES = { step: Step };
