import { lazy, Suspense, useState } from 'react';
import { findingAt } from '../api/findings';
import { ApiProblem } from '../api/problem';
import { Button } from '../design/button';
import { Select } from '../design/field';
import { ReadOnly, useReadOnly } from '../design/read-only';
import { Skeleton } from '../design/states';
import { Tabs } from '../design/tabs';
import { TEXTS } from '../texts';
import { nameOfStep, STEP_KINDS, type StepKind, withoutStep, withStep } from './flow';
import { StepSettings } from './step-settings';
import type { EditorProps } from './template-editor';

const { templates: texts, flow: flowTexts } = TEXTS;
const CodeEditor = lazy(() => import('../design/code-editor').then((one) => ({ default: one.CodeEditor })));
const FlowCanvas = lazy(() => import('./flow-canvas').then((one) => ({ default: one.FlowCanvas })));

/** A call as a graph of steps or as XML. */
export function VoiceEditor({ draft, onChange, error }: EditorProps) {
  const isDesigned = draft.source === 'design';
  const wrong = findingAt(error, 'body');
  return (
    <Tabs
      label={texts.form}
      tabs={[
        { key: 'design', label: texts.asGraph },
        { key: 'body', label: texts.asXml },
      ]}
      chosen={draft.source}
      onChoose={(source) => onChange({ source })}
    >
      <div className="stack">
        <p className="notice">{isDesigned ? texts.graphNotice : texts.xmlNotice}</p>
        {isDesigned ? (
          <Graph draft={draft} onChange={onChange} error={error} />
        ) : (
          <Suspense fallback={<Skeleton />}>
            <CodeEditor
              label={texts.xml}
              language="xml"
              value={draft.body}
              onChange={(body) => onChange({ body })}
            />
          </Suspense>
        )}
        {wrong && <p className="tone-bad small">{wrong}</p>}
      </div>
    </Tabs>
  );
}

function Graph({ draft: { flow }, onChange, error }: Omit<EditorProps, 'values'>) {
  const [chosen, setChosen] = useState(flow.nodes[0]?.id);
  const findings = findingsByNode(error);
  const isReadOnly = useReadOnly();
  const node = flow.nodes.find(({ id }) => id === chosen);
  return (
    <div className="stack">
      {!isReadOnly && (
        <NewStep
          onAdd={(kind) => {
            const added = withStep(flow, kind);
            onChange({ flow: added.flow });
            setChosen(added.id);
          }}
        />
      )}
      <Suspense fallback={<Skeleton lines={8} />}>
        <FlowCanvas
          flow={flow}
          chosen={chosen}
          findings={findings}
          onChoose={setChosen}
          onChange={(changed) => onChange({ flow: changed })}
        />
      </Suspense>
      <section className="card stack" aria-label={flowTexts.step}>
        <div className="row end">
          <ReadOnly on={false}>
            <Select
              label={flowTexts.step}
              value={chosen ?? ''}
              onChange={({ target }) => setChosen(target.value)}
            >
              {flow.nodes.map((one) => (
                <option key={one.id} value={one.id}>
                  {nameOfStep(one)}
                </option>
              ))}
            </Select>
          </ReadOnly>
          {node && (
            <Button
              kind="danger"
              onClick={() => {
                onChange({ flow: withoutStep(flow, node.id) });
                setChosen(flow.nodes.find(({ id }) => id !== node.id)?.id);
              }}
            >
              {flowTexts.remove}
            </Button>
          )}
        </div>
        {node && (
          <StepSettings
            key={node.id}
            flow={flow}
            node={node}
            wrong={findings.get(flow.nodes.indexOf(node))}
            onChange={(changed) => onChange({ flow: changed })}
          />
        )}
      </section>
    </div>
  );
}

function NewStep({ onAdd }: { onAdd(kind: StepKind): void }) {
  const [kind, setKind] = useState<StepKind>('text');
  return (
    <div className="row end">
      <Select
        label={flowTexts.newStep}
        value={kind}
        onChange={({ target }) => setKind(target.value as StepKind)}
      >
        {STEP_KINDS.map((one) => (
          <option key={one} value={one}>
            {flowTexts.kinds[one]}
          </option>
        ))}
      </Select>
      <Button onClick={() => onAdd(kind)}>{flowTexts.add}</Button>
    </div>
  );
}

/** `voiceJson.nodes.<n>.…` belongs to the node at that index. */
function findingsByNode(error: unknown): ReadonlyMap<number, string> {
  const found = new Map<number, string>();
  if (!(error instanceof ApiProblem)) return found;
  for (const { path, message } of error.findings) {
    const index = /^voiceJson\.nodes\.(\d+)/.exec(path)?.[1];
    if (index === undefined) continue;
    found.set(Number(index), [found.get(Number(index)), message].filter(Boolean).join(' '));
  }
  return found;
}
