import { addressFindings } from './email-layout-addresses';
import type { FieldCode } from './field-codes';
import { LIMITS } from './limits';
import type { ValidationIssue } from './validation-issue';

/**
 * An EmailBuilder document (api.md 5): blocks by id, of which `root` is the layout, and lists of ids that say
 * which blocks each block contains. Only a tree can be drawn, but a document can contain loops and shared
 * blocks.
 */
export type Layout = Record<string, unknown>;

/** Block types that the renderer draws. A block of another type is kept, gets a warning, and is drawn as nothing. */
const BLOCK_TYPES: ReadonlySet<unknown> = new Set([
  ...['EmailLayout', 'Container', 'ColumnsContainer', 'Heading', 'Text', 'Button', 'Image', 'Avatar'],
  ...['Divider', 'Spacer', 'Html'],
]);

/**
 * Returns every error of a layout and every warning for its author, with paths that begin with `at`. The caller
 * has limited how deep the JSON is nested.
 */
export function checkLayout(layout: Layout, at: string): ValidationIssue[] {
  const ids = Object.keys(layout);
  if (ids.length > LIMITS.layoutBlocks) return [tooManyBlocks(at)];
  const findings: ValidationIssue[] = [];
  // Errors and warnings have separate limits, so that many warnings cannot hide an error.
  const room = { error: LIMITS.layoutFindings, warning: LIMITS.layoutFindings };
  const tell = (finding: ValidationIssue) => {
    if (room[finding.severity]-- > 0) findings.push(finding);
  };
  const root = layout.root;
  if (!Object.hasOwn(layout, 'root') || !isObject(root)) {
    tell(error(`${at}.root`, 'required', 'The block root, which holds all others, is missing'));
  } else if (root.type !== 'EmailLayout') {
    tell(error(`${at}.root.type`, 'not_a_layout', 'The type of root must be EmailLayout'));
  }
  const references = referencesIn(layout, at, tell);
  checkBlocks(layout, references, { at, tell });
  const tree = walk(references);
  for (const path of tree.loops) tell(error(path, 'cycle', 'A block may not stand inside itself'));
  for (const path of tooDeep(tree.children)) {
    tell(error(path, 'too_deep', `Deeper than ${LIMITS.layoutDepth} blocks below root`));
  }
  if ((tree.sizes.get('root') ?? 0) > LIMITS.layoutBlocks) tell(tooManyBlocks(at));
  for (const id of ids) {
    const block = layout[id];
    if (isObject(block)) addressFindings(block, `${at}.${id}`).forEach(tell);
  }
  return findings;
}

const isKnownBlock = (block: unknown): block is { type: string; data?: Record<string, unknown> } =>
  isObject(block) && BLOCK_TYPES.has(block.type);

export interface ChildList {
  /** Path below the block, as in `data.props.columns.0.childrenIds`. */
  path: string;
  ids: unknown;
}

/** The lists of ids in a block of any type: a layout, a container, columns, or an unknown type. */
function childLists(block: Record<string, unknown>): ChildList[] {
  const data = isObject(block.data) ? block.data : {};
  const props = isObject(data.props) ? data.props : {};
  const columns = Array.isArray(props.columns) ? props.columns : [];
  return [
    { path: 'data.childrenIds', ids: data.childrenIds },
    { path: 'data.props.childrenIds', ids: props.childrenIds },
    ...columns.map((column, i) => ({
      path: `data.props.columns.${i}.childrenIds`,
      ids: isObject(column) ? column.childrenIds : undefined,
    })),
  ].filter(({ ids }) => ids !== undefined && ids !== null);
}

/** A place that names a block. */
interface Reference {
  path: string;
  id: string;
}

function referencesIn(
  layout: Layout,
  at: string,
  tell: (finding: ValidationIssue) => void,
): Map<string, Reference[]> {
  const references = new Map<string, Reference[]>();
  for (const [parent, block] of Object.entries(layout)) {
    const named: Reference[] = [];
    references.set(parent, named);
    if (!isObject(block)) continue;
    for (const list of childLists(block)) {
      const listPath = `${at}.${parent}.${list.path}`;
      if (!Array.isArray(list.ids)) {
        tell(error(listPath, 'invalid_type', 'This must be a list of block ids'));
        continue;
      }
      list.ids.forEach((id, i) => {
        const path = `${listPath}.${i}`;
        if (typeof id !== 'string') tell(error(path, 'invalid_type', 'This must be the id of a block'));
        else if (!Object.hasOwn(layout, id)) tell(error(path, 'unknown_block', 'No block has this id'));
        else named.push({ path, id });
      });
    }
  }
  return references;
}

/** Checks each block by itself, and the references to it. */
function checkBlocks(
  layout: Layout,
  references: Map<string, Reference[]>,
  { at, tell }: { at: string; tell: (finding: ValidationIssue) => void },
): void {
  const named = new Set<string>();
  for (const { path, id } of [...references.values()].flat()) {
    if (named.has(id)) tell(warning(path, 'used_twice', 'This block stands in another place as well'));
    named.add(id);
  }
  for (const [id, block] of Object.entries(layout)) {
    const path = `${at}.${id}`;
    if (id !== 'root' && !named.has(id)) {
      tell(warning(path, 'unused_block', 'No block holds this one, so it is not shown'));
    } else if (!isObject(block)) {
      if (id !== 'root') tell(error(path, 'invalid_type', 'A block is an object with type and data'));
    } else if (id !== 'root' && typeof block.type !== 'string') {
      tell(error(`${path}.type`, 'required', 'A block has a type'));
    } else if (block.data !== undefined && block.data !== null && !isObject(block.data)) {
      tell(error(`${path}.data`, 'invalid_type', 'This must be an object'));
    } else if (id !== 'root' && !BLOCK_TYPES.has(block.type)) {
      tell(warning(`${path}.type`, 'unknown_block_type', 'Blocks of this type are kept, and not shown'));
    }
  }
}

interface Walked {
  /** References that close a loop. */
  loops: string[];
  /** The references of each block, without those that close a loop. */
  children: Map<string, Reference[]>;
  /** How many blocks each block draws in all; a block that is named twice is drawn twice. */
  sizes: Map<string, number>;
}

/** Walks depth first from every block, so that loops outside the tree are found too. */
function walk(references: Map<string, Reference[]>): Walked {
  const loops: string[] = [];
  const children = new Map<string, Reference[]>();
  const sizes = new Map<string, number>();
  const open = new Set<string>();
  const visit = (id: string): number => {
    const known = sizes.get(id);
    if (known !== undefined) return known;
    open.add(id);
    const kept: Reference[] = [];
    let size = 1;
    for (const reference of references.get(id) ?? []) {
      if (open.has(reference.id)) loops.push(reference.path);
      else {
        kept.push(reference);
        size += visit(reference.id);
      }
    }
    open.delete(id);
    children.set(id, kept);
    sizes.set(id, size);
    return size;
  };
  visit('root');
  for (const id of references.keys()) visit(id);
  return { loops, children, sizes };
}

/** References to blocks that are one level too deep, level by level, each block once a level. */
function tooDeep(children: Map<string, Reference[]>): string[] {
  let level: Reference[] = [{ path: '', id: 'root' }];
  for (let depth = 0; depth <= LIMITS.layoutDepth; depth++) {
    const ids = new Set(level.map(({ id }) => id));
    level = [...ids].flatMap((id) => children.get(id) ?? []);
  }
  return level.map(({ path }) => path);
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const error = (path: string, code: FieldCode, message: string): ValidationIssue => ({
  path,
  code,
  message,
  severity: 'error',
});
const warning = (path: string, code: FieldCode, message: string): ValidationIssue => ({
  path,
  code,
  message,
  severity: 'warning',
});
const tooManyBlocks = (at: string) =>
  error(at, 'too_many_blocks', `At most ${LIMITS.layoutBlocks} blocks are shown`);

/**
 * Returns a copy of a checked layout that the renderer accepts. The renderer throws at a block of unknown type,
 * and writes "undefinedpx" for a missing side of a padding. The layout itself is not changed.
 */
export function renderableLayout(layout: Layout): Layout {
  const copy: Layout = {};
  for (const [id, block] of Object.entries(layout)) {
    if (isKnownBlock(block)) copy[id] = { type: block.type, data: dataOf(block, layout) };
  }
  return copy;
}

function dataOf(block: Record<string, unknown>, layout: Layout): Record<string, unknown> {
  const shown = (ids: unknown) =>
    Array.isArray(ids)
      ? ids.filter((id) => typeof id === 'string' && Object.hasOwn(layout, id) && isKnownBlock(layout[id]))
      : undefined;
  const data: Record<string, unknown> = { ...(isObject(block.data) ? block.data : {}) };
  if (isObject(data.style)) data.style = { ...data.style, ...wholePadding(data.style.padding) };
  if (data.props === null) delete data.props;
  if (isObject(data.props) && data.props.markdown === true && typeof data.props.text === 'string') {
    // In Markdown, a space ends an address.
    data.props = { ...data.props, text: data.props.text.replace(/\{\{ *([A-Z][A-Z0-9_]*) *\}\}/g, '{{$1}}') };
  }
  if (childLists(block).length === 0 && block.type !== 'ColumnsContainer') return data;

  if ('childrenIds' in data) data.childrenIds = shown(data.childrenIds) ?? [];
  if (isObject(data.props)) {
    const { columns } = data.props;
    data.props = {
      ...data.props,
      ...('childrenIds' in data.props ? { childrenIds: shown(data.props.childrenIds) ?? [] } : {}),
      ...(Array.isArray(columns)
        ? {
            columns: columns.map((column) => ({
              childrenIds: shown(isObject(column) && column.childrenIds) ?? [],
            })),
          }
        : {}),
    };
  }
  return data;
}

function wholePadding(padding: unknown): object {
  return isObject(padding) ? { padding: { top: 0, bottom: 0, right: 0, left: 0, ...padding } } : {};
}
