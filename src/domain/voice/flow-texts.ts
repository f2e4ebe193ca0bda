import { type CompiledText, compileText } from '../template';

/** A flow with placeholders in its texts, compiled once and filled many times. */
export interface CompiledFlowTexts {
  /** Its size as JSON. */
  readonly chars: number;
  /** Upper bound of its size with these values. */
  filledLength(params: Readonly<Record<string, string | number>>): number;
  /** The flow with its texts filled in. Values are plain text and are never run. */
  render(params: Readonly<Record<string, string | number>>): Record<string, unknown>;
}

type Fill = (params: Readonly<Record<string, string | number>>) => unknown;

/**
 * Compiles the texts in the nodes' `data`. Parts without placeholders are shared by all filled copies, so that
 * filling costs only what is filled.
 */
export function compileFlowTexts(flow: Record<string, unknown>): CompiledFlowTexts {
  const chars = JSON.stringify(flow).length;
  const nodes = Array.isArray(flow.nodes) ? flow.nodes : [];
  const texts: CompiledText[] = [];
  const fills = nodes.map((node: unknown) => {
    const data = (node as { data?: unknown } | null)?.data;
    const fill = compileValue(data, texts);
    return fill && (((params) => ({ ...(node as object), data: fill(params) }) as unknown) satisfies Fill);
  });
  if (texts.length === 0) return { chars, filledLength: () => chars, render: () => flow };
  return {
    chars,
    filledLength: (params) => texts.reduce((sum, text) => sum + text.filledLength(params), chars),
    render: (params) => ({ ...flow, nodes: nodes.map((node, i) => fills[i]?.(params) ?? node) }),
  };
}

/**
 * Adds the texts to be filled to `texts`; returns `undefined` for a part that stays as it is. The recursion is
 * as deep as a flow may nest (LIMITS.designDepth).
 */
function compileValue(value: unknown, texts: CompiledText[]): Fill | undefined {
  if (typeof value === 'string') {
    const text = compileText(value, 'none');
    if (text.placeholders.length === 0) return undefined;
    texts.push(text);
    return (params) => text.render(params);
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const entries = Object.entries(value);
  const fills = entries.map(([, inner]) => compileValue(inner, texts));
  if (fills.every((fill) => fill === undefined)) return undefined;
  const filled: Fill[] = entries.map(([, inner], i) => fills[i] ?? (() => inner));
  if (Array.isArray(value)) return (params) => filled.map((fill) => fill(params));
  // fromEntries, so that a key such as `__proto__` stays an ordinary key.
  return (params) => Object.fromEntries(entries.map(([key], i) => [key, (filled[i] as Fill)(params)]));
}
