import { existsSync } from 'node:fs';
import { FanfareError } from '../client/fanfare-error';
import { CHANNELS } from '../domain/channel';
import { StartupError } from '../startup-error';
import type { ApiClient } from './api-client';
import { print, printable } from './command';
import {
  isSame,
  placeFor,
  readTemplateFile,
  type TemplateFile,
  templateFilesAt,
  writeTemplateFiles,
} from './template-file';
import { findTemplate, listTemplates, readTemplate, wholeTemplate } from './template-lookup';

interface Pulled {
  file: string;
  outcome: 'written' | 'unchanged';
  id: string;
  version: number;
}

/**
 * Writes every template that is not archived, over its files in the directory. Files of other templates are
 * left alone, because their owner may be about to push them.
 */
export async function pullTemplates(
  api: ApiClient,
  directory: string,
  { json }: { json?: boolean },
): Promise<void> {
  const taken = await ownersOf(directory);
  const pulled: Pulled[] = [];
  for (const channel of CHANNELS) {
    for await (const { id } of listTemplates(api, channel)) {
      const template = await readTemplate(api, id);
      const file = placeFor(directory, template, taken);
      const outcome = await writeTemplateFiles(file, template);
      pulled.push({ file, outcome, id, version: template.version });
    }
  }
  const lines = pulled.map(
    ({ file, outcome, version }) => `${outcome.padEnd(9)}  ${file}, version ${version}`,
  );
  print(json, pulled, lines.length > 0 ? lines : ['There are no templates.']);
}

/** The template of each file, as `channel/name`; a file that cannot be read is never overwritten. */
async function ownersOf(directory: string): Promise<Map<string, string>> {
  const taken = new Map<string, string>();
  for (const file of existsSync(directory) ? await templateFilesAt(directory) : []) {
    const content = await readTemplateFile(file).catch(() => undefined);
    taken.set(file, content ? `${content.channel}/${content.templateName}` : '');
  }
  return taken;
}

interface Pushed {
  file: string;
  outcome: 'created' | 'updated' | 'unchanged' | 'refused';
  channel?: string;
  templateName?: string;
  id?: string;
  version?: number;
  /** Why it was refused. */
  errors?: string[];
}

/**
 * Saves each file as a template, or as a new version of the template with its name. A file equal to the stored
 * version creates none. A refused file does not stop the others. Returns the exit code: 1 when any was refused.
 */
export async function pushTemplates(
  api: ApiClient,
  path: string,
  { json }: { json?: boolean },
): Promise<number> {
  const files = await templateFilesAt(path);
  if (files.length === 0) {
    throw new StartupError(
      `There are no templates in ${path}`,
      'Name a file, or a directory that holds .json files, or folders email, sms and voice of them.',
    );
  }
  const pushed: Pushed[] = [];
  for (const file of files) pushed.push(await push(api, file));
  print(json, pushed, pushed.flatMap(linesOf));
  return pushed.some(({ outcome }) => outcome === 'refused') ? 1 : 0;
}

async function push(api: ApiClient, file: string): Promise<Pushed> {
  try {
    const content = await readTemplateFile(file);
    return {
      file,
      channel: content.channel,
      templateName: content.templateName,
      ...(await save(api, content)),
    };
  } catch (error) {
    if (error instanceof StartupError) return { file, outcome: 'refused', errors: [error.message] };
    // Skip problems that apply to every file; they are reported once at the end.
    if (!(error instanceof FanfareError) || error.status < 409 || error.isForTheMoment) throw error;
    const findings = error.errors.map(({ path, message }) => `${path}: ${message}`);
    return { file, outcome: 'refused', errors: findings.length > 0 ? findings : [error.message] };
  }
}

async function save(
  api: ApiClient,
  content: TemplateFile,
): Promise<Pick<Pushed, 'outcome' | 'id' | 'version'>> {
  const known = await findTemplate(api, content.channel, content.templateName);
  if (!known) {
    const { template } = await api.post('/api/template/', content, wholeTemplate);
    return { outcome: 'created', id: template.id, version: template.version };
  }
  const stored = await readTemplate(api, known.id);
  if (isSame(content, stored)) return { outcome: 'unchanged', id: stored.id, version: stored.version };
  const path = `/api/template/${encodeURIComponent(known.id)}`;
  const { template } = await api.put(path, content, wholeTemplate);
  return { outcome: 'updated', id: template.id, version: template.version };
}

function linesOf({ file, outcome, channel, templateName, id, version, errors = [] }: Pushed): string[] {
  if (outcome === 'refused') return [`refused    ${file}`, ...errors.map((one) => `  ${printable(one)}`)];
  return [`${outcome.padEnd(9)}  ${channel} ${printable(templateName ?? '')}, version ${version} (${id})`];
}
