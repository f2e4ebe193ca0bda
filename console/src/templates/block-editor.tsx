import { useState } from 'react';
import { Button } from '../design/button';
import { Field, Select, TextArea } from '../design/field';
import { useReadOnly } from '../design/read-only';
import { fill } from '../format';
import { TEXTS } from '../texts';
import {
  BLOCK_TYPES,
  type BlockType,
  idsAt,
  isKnown,
  type Layout,
  type Place,
  placesIn,
  typeOf,
  valueAt,
  withBlock,
  withMoved,
  withoutBlock,
  withValue,
} from './blocks';

const { blocks: texts } = TEXTS;

interface BlockEditorProps {
  layout: Layout;
  onChange(layout: Layout): void;
  /** What the API said about a block, by its id. */
  findings: ReadonlyMap<string, string>;
}

/** The blocks of an email in their order, each with its settings; moved and deleted by buttons, so by keyboard too. */
export function BlockEditor(props: BlockEditorProps) {
  return (
    <div className="stack">
      <BlockList {...props} place={{ parent: 'root' }} depth={0} />
      <PageSettings {...props} />
    </div>
  );
}

function BlockList({ place, depth, ...props }: BlockEditorProps & { place: Place; depth: number }) {
  const { layout, onChange } = props;
  const [type, setType] = useState<BlockType>('Text');
  const ids = idsAt(layout, place);
  const isReadOnly = useReadOnly();
  return (
    <div className="stack tight">
      {ids.length === 0 && <p className="muted">{texts.nothing}</p>}
      {ids.map((id, at) => (
        <BlockCard
          key={id}
          {...props}
          id={id}
          depth={depth}
          place={place}
          isFirst={at === 0}
          isLast={at === ids.length - 1}
        />
      ))}
      {!isReadOnly && (
        <div className="row end">
          <Select
            label={texts.newBlock}
            value={type}
            onChange={({ target }) => setType(target.value as BlockType)}
          >
            {BLOCK_TYPES.map((one) => (
              <option key={one} value={one}>
                {texts.types[one]}
              </option>
            ))}
          </Select>
          <Button onClick={() => onChange(withBlock(layout, place, type).layout)}>{texts.add}</Button>
        </div>
      )}
    </div>
  );
}

interface CardProps extends BlockEditorProps {
  id: string;
  place: Place;
  depth: number;
  isFirst: boolean;
  isLast: boolean;
}

/** As deep as the renderer goes. */
const DEPTH_MAX = 19;

function BlockCard({ id, place, depth, isFirst, isLast, ...props }: CardProps) {
  const { layout, onChange, findings } = props;
  const type = typeOf(layout, id);
  const name = isKnown(type) ? texts.types[type] : fill(texts.unknown, { type });
  const places = depth < DEPTH_MAX ? placesIn(layout, id) : [];
  const wrong = findings.get(id);
  return (
    <section className="card stack tight" aria-label={name}>
      <div className="row spread">
        <h2>{name}</h2>
        <span className="row">
          <Button
            small
            kind="quiet"
            unavailable={isFirst}
            aria-label={fill(texts.up, { name })}
            onClick={() => onChange(withMoved(layout, place, id, -1))}
          >
            ↑
          </Button>
          <Button
            small
            kind="quiet"
            unavailable={isLast}
            aria-label={fill(texts.down, { name })}
            onClick={() => onChange(withMoved(layout, place, id, 1))}
          >
            ↓
          </Button>
          <Button
            small
            kind="quiet"
            aria-label={fill(texts.remove, { name })}
            onClick={() => onChange(withoutBlock(layout, place, id))}
          >
            {TEXTS.common.remove}
          </Button>
        </span>
      </div>
      {wrong && <p className="tone-bad small">{wrong}</p>}
      {isKnown(type) ? (
        <BlockSettings {...props} id={id} type={type} />
      ) : (
        <p className="muted">{texts.unknownText}</p>
      )}
      {places.map((one) => (
        <div key={one.column ?? 0} className="nested">
          {one.column !== undefined && (
            <p className="muted small">{fill(texts.column, { n: one.column + 1 })}</p>
          )}
          <BlockList {...props} place={one} depth={depth + 1} />
        </div>
      ))}
    </section>
  );
}

type Kind = 'line' | 'text' | 'number' | 'align' | 'level' | 'columns';
interface Setting {
  path: readonly string[];
  label: string;
  kind: Kind;
}

const prop = (name: string, label: string, kind: Kind = 'line'): Setting => ({
  path: ['props', name],
  label,
  kind,
});
const style = (name: string, label: string, kind: Kind = 'line'): Setting => ({
  path: ['style', ...name.split('.')],
  label,
  kind,
});

const { settings: labels } = texts;
const MAIN: Record<BlockType, readonly Setting[]> = {
  Heading: [prop('text', labels.text), prop('level', labels.level, 'level')],
  Text: [prop('text', labels.text, 'text')],
  Button: [prop('text', labels.text), prop('url', labels.link)],
  Image: [prop('url', labels.image), prop('alt', labels.alt), prop('linkHref', labels.link)],
  Divider: [prop('lineColor', labels.color), prop('lineHeight', labels.thickness, 'number')],
  Spacer: [prop('height', labels.height, 'number')],
  Container: [],
  ColumnsContainer: [prop('columnsCount', labels.columns, 'columns')],
  Avatar: [prop('imageUrl', labels.image), prop('alt', labels.alt), prop('size', labels.size, 'number')],
  Html: [prop('contents', labels.html, 'text')],
};
const LOOK: readonly Setting[] = [
  style('textAlign', labels.align, 'align'),
  style('color', labels.textColor),
  style('backgroundColor', labels.background),
  style('fontSize', labels.fontSize, 'number'),
  style('padding.top', labels.top, 'number'),
  style('padding.bottom', labels.bottom, 'number'),
  style('padding.left', labels.left, 'number'),
  style('padding.right', labels.right, 'number'),
];

function BlockSettings({ id, type, ...props }: BlockEditorProps & { id: string; type: BlockType }) {
  return (
    <>
      {MAIN[type].map((setting) => (
        <SettingField key={setting.label} {...props} id={id} setting={setting} />
      ))}
      {type !== 'Spacer' && (
        <details>
          <summary>{texts.look}</summary>
          <div className="settings">
            {LOOK.map((setting) => (
              <SettingField key={setting.label} {...props} id={id} setting={setting} />
            ))}
          </div>
        </details>
      )}
    </>
  );
}

const OPTIONS: Partial<Record<Kind, readonly string[]>> = {
  align: ['', 'left', 'center', 'right'],
  level: ['h1', 'h2', 'h3'],
  columns: ['2', '3'],
};

function SettingField({
  layout,
  onChange,
  id,
  setting,
}: BlockEditorProps & { id: string; setting: Setting }) {
  const { path, label, kind } = setting;
  const value = String(valueAt(layout, id, path) ?? '');
  const isNumber = kind === 'number' || kind === 'columns';
  const set = (typed: string) =>
    onChange(
      withValue(
        layout,
        id,
        path,
        typed === '' && path[0] === 'style' ? undefined : isNumber ? Number(typed) : typed,
      ),
    );
  const shared = { label, value, onChange: ({ target }: { target: { value: string } }) => set(target.value) };
  const options = OPTIONS[kind];
  if (options) {
    return (
      <Select {...shared}>
        {options.map((one) => (
          <option key={one} value={one}>
            {one === '' ? TEXTS.common.none : one}
          </option>
        ))}
      </Select>
    );
  }
  if (kind === 'text') return <TextArea {...shared} />;
  return <Field {...shared} {...(kind === 'number' ? { type: 'number', min: 0 } : {})} />;
}

const FONTS = [
  ...['MODERN_SANS', 'BOOK_SANS', 'ORGANIC_SANS', 'GEOMETRIC_SANS', 'HEAVY_SANS', 'ROUNDED_SANS'],
  ...['MODERN_SERIF', 'BOOK_SERIF', 'MONOSPACE'],
];

function PageSettings({ layout, onChange }: BlockEditorProps) {
  const set = (key: string, value: string) => onChange(withValue(layout, 'root', [key], value));
  const get = (key: string) => String(valueAt(layout, 'root', [key]) ?? '');
  return (
    <details>
      <summary>{texts.page}</summary>
      <div className="settings">
        {(['backdropColor', 'canvasColor', 'textColor'] as const).map((key) => (
          <Field
            key={key}
            label={labels[key]}
            value={get(key)}
            placeholder="#FFFFFF"
            onChange={({ target }) => set(key, target.value)}
          />
        ))}
        <Select
          label={labels.font}
          value={get('fontFamily')}
          onChange={({ target }) => set('fontFamily', target.value)}
        >
          {[...new Set([get('fontFamily'), ...FONTS])].map((one) => (
            <option key={one} value={one}>
              {one || TEXTS.common.none}
            </option>
          ))}
        </Select>
      </div>
    </details>
  );
}
