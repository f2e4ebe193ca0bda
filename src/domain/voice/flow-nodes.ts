import type { VerbName } from './verbs';

/**
 * What a node of a flow does, by its `type`. Editors name types freely ("text", "textNode", "TEXT"), so that
 * case, separators and a final "node" are ignored. An unknown type is kept and reported, and its text is spoken
 * if it has one.
 */
export type NodeKind = VerbName | 'plain' | 'group';

export function nodeKind(type: unknown): NodeKind | undefined {
  if (type === undefined || type === null) return 'plain';
  if (typeof type !== 'string') return undefined;
  return KINDS.get(
    type
      .toLowerCase()
      .replace(/[^a-z0-9]/g, '')
      .replace(/node$/, ''),
  );
}

const KINDS = new Map<string, NodeKind>([
  ...(['text', 'say', 'speak', 'speech', 'tts', 'message'] as const).map((type) => [type, 'Say'] as const),
  // The editor's own types mean a shape, not a verb: such a node speaks its text, if it has one.
  ...(['', 'default', 'input', 'output', 'start'] as const).map((type) => [type, 'plain'] as const),
  ['group', 'group'],
  ['answer', 'Answer'],
  ['play', 'Play'],
  ['audio', 'Play'],
  ['pause', 'Pause'],
  ['wait', 'Pause'],
  ['gather', 'Gather'],
  ['getdigits', 'Gather'],
  ['menu', 'Gather'],
  ['record', 'Record'],
  ['redirect', 'Redirect'],
  ['reject', 'Reject'],
  ['hangup', 'Hangup'],
  ['end', 'Hangup'],
]);

/** Other names under which editors store a setting. */
export const SETTING_ALIASES: Readonly<
  Partial<Record<NodeKind, Readonly<Record<string, readonly string[]>>>>
> = {
  Play: { url: ['audioUrl', 'src'] },
  Pause: { length: ['seconds', 'duration'] },
  Gather: { retries: ['maxRetries'], optOutDigits: ['optOutDigit'], url: ['audioUrl'] },
};

/** Keys of any node: its name, its text, and whether it is the start or the end. */
export const NODE_KEYS: ReadonlySet<string> = new Set(
  'label isStart isEndNode text history name title description icon Icon'.split(' '),
);
