import { existsSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { isDomainError } from '../domain/errors';
import { versionOf } from '../messaging/templates/template-parts';
import { StartupError } from '../startup-error';
import { readJsonObject, readText } from './json-input';
import type { WholeTemplate } from './template-lookup';

/**
 * Templates as files. `<channel>/<name>.json` holds the body of `POST /api/template/`. Beside it, the
 * template's body has its own file, `.html`, `.txt` or `.xml`, so that people and their tools can read it. One
 * line end at the end of a body file belongs to the editor, not to the body. The name and channel in the JSON
 * count, not those of the file.
 */
const BODY_FILES: Record<Channel, string> = { email: '.html', sms: '.txt', voice: '.xml' };

const content = z.looseObject({
  channel: z.enum(CHANNELS),
  templateName: z.string().transform((name) => name.trim()),
  body: z.string().nullish(),
  subject: z.string().nullish(),
  emailProviderId: z.string().nullish(),
  template: z.record(z.string(), z.unknown()).nullish(),
  voiceJson: z.record(z.string(), z.unknown()).nullish(),
});
export type TemplateFile = z.infer<typeof content>;

export async function readTemplateFile(file: string): Promise<TemplateFile> {
  const parsed = content.safeParse(await readJsonObject(file));
  if (!parsed.success) {
    const [issue] = parsed.error.issues;
    throw new StartupError(
      `${file} is no template: ${issue?.path.join('.')}: ${issue?.message}`,
      'It must hold what POST /api/template takes: channel, templateName and what belongs to the channel.',
    );
  }
  const bodyFile = bodyFileOf(file, parsed.data.channel);
  if (parsed.data.body || !existsSync(bodyFile)) return parsed.data;
  const text = await readText(bodyFile);
  // An editor's mark of UTF-8 would be sent, and make an SMS of 160 characters one of 70.
  return { ...parsed.data, body: text.replace(/^\uFEFF/, '').replace(/\r?\n$/, '') };
}

/** The file itself, or the files of a directory and of its folders named for channels, sorted by name. */
export async function templateFilesAt(path: string): Promise<string[]> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => {
    throw new StartupError(
      `${path} cannot be read: ${error.code}`,
      'Name a file or a directory of templates.',
    );
  });
  if (!found.isDirectory()) return [path];
  const files: string[] = [];
  for (const directory of [path, ...CHANNELS.map((channel) => join(path, channel))]) {
    const names = existsSync(directory) ? await readdir(directory) : [];
    files.push(
      ...names
        .filter((name) => name.endsWith('.json'))
        .sort()
        .map((name) => join(directory, name)),
    );
  }
  return files;
}

/** Whether saving the file would create a version equal to this one. */
export function isSame(file: TemplateFile, stored: WholeTemplate): boolean {
  return (
    (file.subject ?? '') === (stored.subject ?? '') &&
    (file.emailProviderId ?? '') === (stored.emailProviderId ?? '') &&
    isDeepStrictEqual(designOf(file), designOf(stored)) &&
    bodyMadeOf(file) === stored.body
  );
}

const designOf = ({ channel, template, voiceJson }: TemplateFile | WholeTemplate) =>
  (channel === 'voice' ? voiceJson : template) ?? null;

/** The body as the service derives it when none is given. A template that the service will refuse has none. */
function bodyMadeOf(file: TemplateFile): string | undefined {
  const { channel, templateName, subject, body } = file;
  try {
    return versionOf(channel, {
      name: templateName,
      subject: subject ?? null,
      body: body ?? '',
      emailProviderId: '',
      design: designOf(file),
    }).body;
  } catch (error) {
    if (isDomainError(error)) return undefined;
    throw error;
  }
}

/** Writes both files; returns the path of the JSON. Files with the same content are left unchanged. */
export async function writeTemplateFiles(
  file: string,
  stored: WholeTemplate,
): Promise<'written' | 'unchanged'> {
  const { channel, templateName, subject, emailProviderId, body } = stored;
  const manifest = {
    channel,
    templateName,
    ...(channel === 'email' ? { subject, emailProviderId: emailProviderId ?? '' } : {}),
    ...(channel === 'email' && stored.template ? { template: stored.template } : {}),
    ...(channel === 'voice' ? { voiceJson: stored.voiceJson } : {}),
    // In a file of its own, either could not be distinguished from an editor's.
    ...(body.startsWith('\uFEFF') || body.endsWith('\r') ? { body } : {}),
  };
  const known = existsSync(file) ? await readTemplateFile(file).catch(() => undefined) : undefined;
  const sameName = known?.channel === channel && known.templateName === templateName;
  if (known && sameName && known.body === body && isSame(known, stored)) return 'unchanged';
  // The body is written first, because a manifest without its body would be rendered from its design.
  await replace(bodyFileOf(file, channel), `${body}\n`);
  await replace(file, `${JSON.stringify(manifest, null, 2)}\n`);
  return 'written';
}

const bodyFileOf = (file: string, channel: Channel): string =>
  `${file.replace(/\.json$/, '')}${BODY_FILES[channel]}`;

async function replace(file: string, text: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    await writeFile(`${file}.part`, text);
    await rename(`${file}.part`, file);
  } catch (error) {
    await rm(`${file}.part`, { force: true }).catch(() => undefined);
    const { code } = error as NodeJS.ErrnoException;
    throw new StartupError(
      `${file} cannot be written: ${code}`,
      'Name a directory that this user may write.',
      {
        cause: error,
      },
    );
  }
}

const NAME_CHARS = 60;

/**
 * The path of a template's files: where they are already, otherwise from its name in lower case. If another
 * template has that path, the end of its id is added.
 */
export function placeFor(
  directory: string,
  { id, channel, templateName }: WholeTemplate,
  taken: Map<string, string>,
): string {
  const key = `${channel}/${templateName}`;
  for (const [file, owner] of taken) if (owner === key) return file;
  const plain = templateName
    .normalize('NFKD')
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-+|-+$/g, '')
    .slice(0, NAME_CHARS);
  const tail = id.slice(-6).toLowerCase();
  const names = plain === '' ? [tail, id] : [plain, `${plain}-${tail}`, `${plain}-${id}`];
  const paths = names.map((name) => join(directory, channel, `${name}.json`));
  const file = paths.find((path) => !taken.has(path)) ?? (paths.at(-1) as string);
  taken.set(file, key);
  return file;
}
