import { existsSync } from 'node:fs';
import { CHANNELS } from '../domain/channel';
import type { ApiClient } from './api-client';
import { print } from './command';
import { placeFor, readTemplateFile, templateFilesAt, writeTemplateFiles } from './template-file';
import { listTemplates, readTemplate } from './template-lookup';

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
