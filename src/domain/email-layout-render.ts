import { childLists, isKnownBlock, isObject, type Layout } from './email-layout';

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
