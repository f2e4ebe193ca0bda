/**
 * An EmailBuilder document: blocks by id. Every change makes a new document and keeps whatever it does not know, so
 * that blocks and settings of other editors survive.
 */
export type Layout = Readonly<Record<string, unknown>>;

/** A list of blocks in a document: the root's, a container's, or that of one column. */
export interface Place {
  parent: string;
  column?: number;
}

type Json = Readonly<Record<string, unknown>>;

export const BLOCK_TYPES = [
  ...(['Heading', 'Text', 'Button', 'Image', 'Divider', 'Spacer'] as const),
  ...(['Container', 'ColumnsContainer', 'Avatar', 'Html'] as const),
] as const;
export type BlockType = (typeof BLOCK_TYPES)[number];

const PADDING = { top: 16, bottom: 16, left: 24, right: 24 };
const NEW_PROPS: Record<BlockType, Json> = {
  Heading: { text: 'Heading', level: 'h2' },
  Text: { text: 'Text' },
  Button: { text: 'Button', url: 'https://example.com' },
  Image: { url: '', alt: '' },
  Divider: { lineColor: '#CCCCCC', lineHeight: 1 },
  Spacer: { height: 16 },
  Container: { childrenIds: [] },
  ColumnsContainer: {
    columnsCount: 2,
    columns: [{ childrenIds: [] }, { childrenIds: [] }, { childrenIds: [] }],
  },
  Avatar: { imageUrl: '', size: 64 },
  Html: { contents: '' },
};

export const EMPTY_LAYOUT: Layout = {
  root: {
    type: 'EmailLayout',
    data: {
      backdropColor: '#F5F5F5',
      canvasColor: '#FFFFFF',
      textColor: '#262626',
      fontFamily: 'MODERN_SANS',
      childrenIds: ['heading', 'text'],
    },
  },
  heading: {
    type: 'Heading',
    data: { props: { text: 'Hello {{NAME}}', level: 'h2' }, style: { padding: PADDING } },
  },
  text: { type: 'Text', data: { props: { text: 'Your text' }, style: { padding: PADDING } } },
};

export const typeOf = (layout: Layout, id: string): string => {
  const { type } = objectOf(layout[id]);
  return typeof type === 'string' ? type : '?';
};

export const isKnown = (type: string): type is BlockType => BLOCK_TYPES.some((one) => one === type);

/** Where a block holds others. */
export function placesIn(layout: Layout, id: string): Place[] {
  const type = typeOf(layout, id);
  if (type === 'EmailLayout' || type === 'Container') return [{ parent: id }];
  if (type !== 'ColumnsContainer') return [];
  const count = Number(valueAt(layout, id, ['props', 'columnsCount']) ?? 2);
  return Array.from({ length: Math.min(3, Math.max(1, count || 2)) }, (_, column) => ({
    parent: id,
    column,
  }));
}

export function idsAt(layout: Layout, place: Place): string[] {
  const ids = valueAt(layout, place.parent, pathOf(layout, place));
  return Array.isArray(ids) ? ids.filter((id): id is string => typeof id === 'string') : [];
}

/** A setting of a block: `['props', 'text']`, `['style', 'padding', 'top']`. */
export function valueAt(layout: Layout, id: string, path: readonly string[]): unknown {
  let value: unknown = objectOf(layout[id]).data;
  for (const key of path) value = Array.isArray(value) ? value[Number(key)] : objectOf(value)[key];
  return value;
}

/** `undefined` takes the setting away. */
export function withValue(layout: Layout, id: string, path: readonly string[], value: unknown): Layout {
  return { ...layout, [id]: setIn(layout[id], ['data', ...path], value) };
}

export function withBlock(layout: Layout, place: Place, type: BlockType): { layout: Layout; id: string } {
  let number = Object.keys(layout).length;
  while (`block-${number}` in layout) number += 1;
  const id = `block-${number}`;
  const style = type === 'Spacer' ? {} : { style: { padding: PADDING } };
  const block = { type, data: { ...style, props: NEW_PROPS[type] } };
  return { layout: withIds({ ...layout, [id]: block }, place, [...idsAt(layout, place), id]), id };
}

/** Takes a block out of its list, and it and what only it held out of the document. */
export function withoutBlock(layout: Layout, place: Place, id: string): Layout {
  const rest: Record<string, unknown> = {
    ...withIds(
      layout,
      place,
      idsAt(layout, place).filter((one) => one !== id),
    ),
  };
  const waiting = [id];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (!(next in rest) || next === 'root') continue;
    waiting.push(...placesIn(rest, next).flatMap((one) => idsAt(rest, one)));
    delete rest[next];
  }
  return rest;
}

export function withMoved(layout: Layout, place: Place, id: string, by: -1 | 1): Layout {
  const ids = idsAt(layout, place);
  const from = ids.indexOf(id);
  const to = from + by;
  if (from < 0 || to < 0 || to >= ids.length) return layout;
  ids.splice(to, 0, ...ids.splice(from, 1));
  return withIds(layout, place, ids);
}

const withIds = (layout: Layout, place: Place, ids: readonly string[]): Layout =>
  withValue(layout, place.parent, pathOf(layout, place), ids);

function pathOf(layout: Layout, { parent, column }: Place): string[] {
  if (column !== undefined) return ['props', 'columns', String(column), 'childrenIds'];
  return typeOf(layout, parent) === 'EmailLayout' ? ['childrenIds'] : ['props', 'childrenIds'];
}

function setIn(whole: unknown, [key, ...rest]: readonly string[], value: unknown): unknown {
  if (key === undefined) return value;
  if (Array.isArray(whole) || (/^\d+$/.test(key) && whole === undefined)) {
    const list = Array.isArray(whole) ? [...whole] : [];
    list[Number(key)] = setIn(list[Number(key)], rest, value);
    return list;
  }
  const copy: Record<string, unknown> = { ...objectOf(whole) };
  const next = setIn(copy[key], rest, value);
  if (next === undefined) delete copy[key];
  else copy[key] = next;
  return copy;
}

const objectOf = (value: unknown): Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Json) : {};
