import type { FieldCode } from '../field-codes';
import { holdsPlaceholder, isCallableUrl, readValue } from './attribute-value';
import type { Findings } from './findings';
import type { FlowNode } from './flow-graph';
import { NODE_KEYS, SETTING_ALIASES } from './flow-nodes';
import type { Prompt, SayStep, Step } from './program';
import { type AttributeType, HISTORY, VERBS, type VerbName } from './verbs';

/** The verb of a node with its settings, for a gather without branches; undefined if the node does nothing. */
export function stepOf(node: FlowNode, findings: Findings): Step | undefined {
  const { kind, data } = node;
  const path = `voiceJson.nodes.${node.index}.data`;
  const settings = readSettings(node, path, findings);
  const common = settings.history === undefined ? {} : { history: settings.history };
  switch (kind) {
    case 'group':
      return undefined;
    case 'plain':
    case 'Say': {
      const say = sayOf(data, settings);
      if (say) return { ...say, ...common } as Step;
      if (kind === 'Say' && data.text === undefined) {
        findings.add({ path: `${path}.text`, code: 'empty_text', message: SILENT, severity: 'warning' });
      }
      return undefined;
    }
    case 'Play': {
      const address = addressOf(node, path, findings);
      if (address === undefined && settings.digits === undefined) missing(path, findings);
      return { verb: kind, ...settings, ...(address === undefined ? {} : { url: address }) } as Step;
    }
    case 'Redirect': {
      const address = addressOf(node, path, findings);
      if (address === undefined) missing(path, findings);
      return { verb: kind, ...settings, url: address ?? '' } as Step;
    }
    case 'Gather': {
      const { voice, loop, ...own } = settings;
      const address = addressOf(node, path, findings);
      const prompts = [sayOf(data, settings), address && { verb: 'Play', url: address }].filter(Boolean);
      return { verb: kind, ...own, prompts: prompts as Prompt[], branches: [] } as Step;
    }
    default:
      return { verb: kind, ...settings } as Step;
  }
}

const SILENT = 'There is nothing to say here';

/** Reads the settings that a node's verb knows, with their types, and reports wrong and unknown ones. */
function readSettings({ kind, data }: FlowNode, path: string, findings: Findings): Record<string, unknown> {
  const refuse = (key: string, code: FieldCode, message: string) =>
    findings.add({ path: `${path}.${key}`, code, message, severity: 'error' });
  for (const key of ['text', 'label'] as const) {
    const given = data[key] ?? '';
    if (typeof given !== 'string') refuse(key, 'invalid_type', 'This must be a text');
  }
  for (const key of ['isStart', 'isEndNode'] as const) {
    const given = data[key] ?? false;
    if (typeof given !== 'boolean') refuse(key, 'invalid_type', 'This must be true or false');
  }
  const settings: Record<string, unknown> = {};
  if (kind === 'group') return settings;
  const types = settingTypes(kind === 'plain' ? 'Say' : kind);
  for (const [name, type] of Object.entries(types)) {
    const key = keyOf(name, kind, data);
    const given = data[key];
    if (given === undefined || given === null || (given === '' && type.kind !== 'keys')) continue;
    const read = readValue(type, typeof given === 'object' ? '' : String(given));
    if ('wrong' in read) refuse(key, 'invalid_value', `This must be ${read.wrong}`);
    else settings[name] = read.value;
  }
  if (kind !== 'plain') warnOfUnknown(kind, data, types, path, findings);
  return settings;
}

/** The settings of a node: its verb's attributes and, for a gather, those of its spoken question. */
function settingTypes(verb: VerbName): Readonly<Record<string, AttributeType>> {
  const speech = verb === 'Gather' ? VERBS.Say.attributes : {};
  return { ...speech, ...VERBS[verb].attributes, history: { kind: 'one of', values: HISTORY } };
}

function keyOf(name: string, kind: FlowNode['kind'], data: FlowNode['data']): string {
  const names = [name, ...(SETTING_ALIASES[kind]?.[name] ?? [])];
  return names.find((one) => Object.hasOwn(data, one)) ?? name;
}

function warnOfUnknown(
  kind: VerbName,
  data: FlowNode['data'],
  types: object,
  path: string,
  findings: Findings,
): void {
  const aliases = Object.entries(SETTING_ALIASES[kind] ?? {}).flat(2);
  const speaks = VERBS[kind].content !== 'none';
  for (const key of Object.keys(data)) {
    if (NODE_KEYS.has(key) || Object.hasOwn(types, key) || aliases.includes(key)) continue;
    if (speaks && key === 'url') continue;
    const message = `A ${kind} node has no setting of this name; it is kept`;
    findings.add({ path: `${path}.${key.slice(0, 60)}`, code: 'unknown_key', message, severity: 'warning' });
  }
}

function sayOf(data: FlowNode['data'], settings: Record<string, unknown>): SayStep | undefined {
  const text = typeof data.text === 'string' ? data.text : '';
  if (text.trim() === '') return undefined;
  const { voice, language, loop } = settings;
  const set = Object.entries({ voice, language, loop }).filter(([, value]) => value !== undefined);
  return { verb: 'Say', ...Object.fromEntries(set), content: [text] } as SayStep;
}

function addressOf({ kind, data }: FlowNode, path: string, findings: Findings): string | undefined {
  const key = keyOf('url', kind, data);
  const given = data[key] ?? '';
  const url = typeof given === 'string' ? given.trim() : '';
  if (given !== '' && !holdsPlaceholder(url) && !isCallableUrl(url)) {
    const message = 'This must be an http or https address without spaces';
    findings.add({ path: `${path}.${key}`, code: 'invalid_value', message, severity: 'error' });
    return 'about:blank';
  }
  return url === '' ? undefined : url;
}

function missing(path: string, findings: Findings): void {
  findings.add({
    path: `${path}.url`,
    code: 'missing_value',
    message: 'An address is needed',
    severity: 'error',
  });
}
