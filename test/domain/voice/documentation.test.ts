import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Step } from '../../../src/domain/voice/program';
import { type AttributeType, VERB_DEFAULTS, VERBS, type VerbName } from '../../../src/domain/voice/verbs';

const ROOT = join(__dirname, '../../..');
const page = readFileSync(join(ROOT, 'docs/voice.md'), 'utf8');
const folder = join(ROOT, 'src/domain/voice');
const source = readdirSync(folder)
  .filter((name) => name.endsWith('.ts'))
  .map((name) => readFileSync(join(folder, name), 'utf8'))
  .join('\n');

/** What the compiler says, said once more by a type: an attribute of the table that is no field of its step. */
type Attributes<Verb extends VerbName> = keyof (typeof VERBS)[Verb]['attributes'];
type Missing = {
  [Verb in VerbName]: Exclude<Attributes<Verb>, keyof Extract<Step, { verb: Verb }>>;
}[VerbName];

function words(type: AttributeType): string {
  switch (type.kind) {
    case 'integer':
      return `${type.min} to ${type.max}${type.or === undefined ? '' : `, ${type.or}`}`;
    case 'one of':
      return type.values.join(', ');
    case 'boolean':
      return 'true, false';
    case 'keys':
      return type.max === 1 ? 'one key, or empty' : 'keys, none twice';
    case 'tones':
      return '0-9, *, #, A-D, w, W';
    case 'url':
      return 'http or https address';
    case 'language':
      return 'language tag';
    case 'name':
      return 'name';
    case 'text':
      return `at most ${type.chars} characters`;
  }
}

describe('docs/voice.md', () => {
  test('has every verb with its attributes, their values and defaults', () => {
    const defaults: Readonly<Record<string, unknown>> = VERB_DEFAULTS;
    const rows = Object.entries(VERBS).flatMap(([verb, { attributes }]) =>
      Object.entries(attributes).map(([name, type]) => {
        const value = (defaults[verb] as Record<string, unknown> | undefined)?.[name] ?? '';
        return `| \`${verb}\` | \`${name}\` | ${words(type)} | ${value === '' ? '' : `\`${value}\``} |`;
      }),
    );
    expect(page.match(/^\| `[A-Z]\w+` \| `\w+` \|.*$/gm)).toEqual(rows);
  });

  test('has every code of a finding', () => {
    const codes = new Set(
      [
        ...source.matchAll(/'(?:error|warning)',\s*'([a-z_]+)'/g),
        ...source.matchAll(/code: '([a-z_]+)'/g),
        ...source.matchAll(/(?:refuse|report|breakOff)\(\s*(?:[^'()]*, )?(?:`[^`]*`, )?'([a-z_]+)',/g),
      ].map(([, code]) => code as string),
    );
    codes.delete('error');
    codes.delete('warning');
    const told = [...page.matchAll(/^\| `([a-z_]+)` \| (?:error|warning)/gm)].map(([, code]) => code);
    expect(told.sort()).toEqual([...codes, 'too_many_nodes', 'too_many_edges'].sort());
  });

  test('is about steps that have a field for every attribute', () => {
    const missing: Missing[] = [];
    expect(missing).toEqual([]);
  });
});
