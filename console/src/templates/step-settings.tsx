import { Button } from '../design/button';
import { Choice, Field, Select, TextArea } from '../design/field';
import { TEXTS } from '../texts';
import {
  type Flow,
  type FlowNode,
  keyOf,
  kindOf,
  nameOfStep,
  STEP_KINDS,
  STEP_SETTINGS,
  withEdge,
  withKey,
  withNode,
  withoutEdge,
  withSetting,
} from './flow';

const { flow: texts } = TEXTS;
const KEYS = ['', '1', '2', '3', '4', '5', '6', '7', '8', '9', '0', '*', '#', 'timeout', 'nomatch'] as const;

interface StepSettingsProps {
  flow: Flow;
  node: FlowNode;
  wrong: string | undefined;
  onChange(flow: Flow): void;
}

/** What one step does and where it leads, as fields: everything that the graph can do, by keyboard. */
export function StepSettings({ flow, node, wrong, onChange }: StepSettingsProps) {
  const { id, data = {} } = node;
  const kind = kindOf(node);
  const set = (key: string, value: unknown) => onChange(withSetting(flow, id, key, value));
  return (
    <div className="stack">
      {wrong && (
        <p className="notice bad" role="alert">
          {wrong}
        </p>
      )}
      <div className="columns">
        <Field
          label={texts.label}
          value={textOf(data.label)}
          onChange={({ target }) => set('label', target.value)}
        />
        {kind ? (
          <Select
            label={texts.kind}
            value={kind}
            onChange={({ target }) => onChange(withNode(flow, id, { type: `${target.value}Node` }))}
          >
            {STEP_KINDS.map((one) => (
              <option key={one} value={one}>
                {texts.kinds[one]}
              </option>
            ))}
          </Select>
        ) : (
          <p className="muted">
            <code>{node.type}</code> {texts.unknownKind}
          </p>
        )}
      </div>
      {kind &&
        STEP_SETTINGS[kind].map(({ key, kind: how }) => {
          const shared = {
            label: texts.settings[key as keyof typeof texts.settings],
            value: textOf(data[key]),
            onChange: ({ target: { value } }: { target: { value: string } }) =>
              set(key, how === 'number' ? (value === '' ? undefined : Number(value)) : value),
          };
          return how === 'text' ? (
            <TextArea key={key} {...shared} rows={3} />
          ) : (
            <Field key={key} {...shared} {...(how === 'number' ? { type: 'number', min: 0 } : {})} />
          );
        })}
      <div className="row">
        <Choice
          label={texts.isStart}
          checked={data.isStart === true}
          onChange={({ target }) => set('isStart', target.checked)}
        />
        <Choice
          label={texts.isEnd}
          checked={data.isEndNode === true}
          onChange={({ target }) => set('isEndNode', target.checked)}
        />
      </div>
      <Leads flow={flow} node={node} isMenu={kind === 'gather'} onChange={onChange} />
    </div>
  );
}

function Leads({ flow, node, isMenu, onChange }: Omit<StepSettingsProps, 'wrong'> & { isMenu: boolean }) {
  const others = flow.nodes.filter(({ id }) => id !== node.id);
  const edges = flow.edges.filter(({ source }) => source === node.id);
  const toOf = (target: string) => flow.nodes.find(({ id }) => id === target);
  return (
    <fieldset className="fieldset stack tight">
      <legend>{texts.leadsTo}</legend>
      {edges.length === 0 && <p className="muted small">{texts.leadsNowhere}</p>}
      {edges.map((edge) => {
        const target = toOf(edge.target);
        const name = target ? nameOfStep(target) : edge.target;
        return (
          <div key={edge.id} className="row end">
            {isMenu && (
              <Select
                label={texts.onKey}
                value={keyOf(edge)}
                onChange={({ target: { value } }) => onChange(withKey(flow, edge.id, value))}
              >
                {[...new Set([keyOf(edge), ...KEYS])].map((key) => (
                  <option key={key} value={key}>
                    {key === '' ? texts.anythingElse : key}
                  </option>
                ))}
              </Select>
            )}
            <span className="leads">→ {name}</span>
            <Button small kind="quiet" onClick={() => onChange(withoutEdge(flow, edge.id))}>
              {TEXTS.common.remove}
              <span className="only-heard">: {name}</span>
            </Button>
          </div>
        );
      })}
      {others.length > 0 && (
        <Select
          label={texts.addLead}
          value=""
          onChange={({ target }) => target.value && onChange(withEdge(flow, node.id, target.value))}
        >
          <option value="">{texts.chooseStep}</option>
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {nameOfStep(one)}
            </option>
          ))}
        </Select>
      )}
    </fieldset>
  );
}

const textOf = (value: unknown) =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';
