import { existsSync } from 'node:fs';
import { z } from 'zod';
import { params } from '../contracts/params';
import { templateBody, warningsOf } from '../contracts/templates';
import { isDomainError } from '../domain/errors';
import { parseVoiceXml } from '../domain/voice/parse-voice-xml';
import { versionOf } from '../messaging/templates/template-parts';
import { previewOf } from '../messaging/templates/template-preview';
import { StartupError } from '../startup-error';
import type { ApiClient } from './api-client';
import { print, withApi } from './command';
import { drawProgram } from './draw-program';
import { UsageError } from './failure';
import { readJsonObject } from './json-input';
import { readTemplateFile } from './template-file';

export interface PreviewOptions {
  params?: string;
  version?: number;
  json?: boolean;
}

const preview = z.looseObject({
  channel: z.enum(['email', 'sms', 'voice']),
  version: z.number(),
  subject: z.string().optional(),
  html: z.string().optional(),
  text: z.string().optional(),
  segments: z.number().optional(),
  encoding: z.string().optional(),
  xml: z.string().optional(),
  used: z.array(z.string()),
  missing: z.array(z.string()),
  warnings: z.array(z.looseObject({ code: z.string(), message: z.string() })),
});
type Preview = z.infer<typeof preview>;

/** The instance fills a stored template; a file is filled here by the same code, so that it need not be stored. */
export async function previewTemplate(
  open: () => Promise<ApiClient>,
  source: string,
  { params: from, version, json }: PreviewOptions,
): Promise<void> {
  const isFile = source.endsWith('.json') || existsSync(source);
  if (isFile && version !== undefined) {
    throw new UsageError(
      `--version is of a stored template, and ${source} is a file`,
      'Name the template by its id, or leave --version out.',
    );
  }
  const values = valuesOf(from === undefined ? {} : await readJsonObject(from));
  const shown = isFile
    ? await previewFile(source, values)
    : await withApi(open(), (api) => previewStored(api, source, { params: values, version }));
  const flow = shown.xml === undefined ? undefined : drawingOf(shown.xml);
  print(json, flow ? { ...shown, flow } : shown, linesOf(shown, flow));
}

async function previewStored(
  api: ApiClient,
  id: string,
  body: { params: z.infer<typeof params>; version: number | undefined },
): Promise<Preview> {
  const path = `/api/template/${encodeURIComponent(id)}/preview`;
  return (await api.post(path, body, z.object({ data: preview }))).data;
}

async function previewFile(file: string, values: z.infer<typeof params>): Promise<Preview> {
  const parsed = templateBody.safeParse(await readTemplateFile(file));
  if (!parsed.success) {
    throw refused(
      file,
      parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`),
    );
  }
  const content = parsed.data;
  try {
    const made = versionOf(content.channel, {
      name: content.templateName,
      subject: content.channel === 'email' ? content.subject : null,
      body: content.body,
      emailProviderId: '',
      design: content.channel === 'voice' ? content.voiceJson : designOf(content),
    });
    const at = new Date(0);
    const template = {
      ...made,
      id: 'file',
      channel: content.channel,
      version: 0,
      createdAt: at,
      updatedAt: at,
    };
    const shown = previewOf(template, values);
    const seen = new Set(shown.warnings.map(({ code, path }) => `${code} ${path}`));
    const ofSaving = warningsOf(content).filter(({ code, path }) => !seen.has(`${code} ${path}`));
    return preview.parse({ ...shown, warnings: [...ofSaving, ...shown.warnings] });
  } catch (error) {
    if (!isDomainError(error)) throw error;
    throw refused(
      file,
      (error.errors ?? [error]).map(({ message }) => message),
    );
  }
}

const designOf = (content: object) =>
  'template' in content ? ((content.template as Record<string, unknown> | null | undefined) ?? null) : null;

const refused = (file: string, findings: string[]) =>
  new StartupError(`${file} would be refused:\n  ${findings.join('\n  ')}`, 'Correct these.');

function valuesOf(given: Record<string, unknown>): z.infer<typeof params> {
  const parsed = params.safeParse(given);
  if (parsed.success) return parsed.data;
  const findings = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  throw new StartupError(`The values cannot be used: ${findings.join('; ')}`, 'Correct these.');
}

/** Problems that the preview's findings report already are not drawn. */
function drawingOf(xml: string): string[] | undefined {
  const { program } = parseVoiceXml(xml);
  return program && drawProgram(program);
}

/** Texts keep their line breaks and tabs; other characters that a terminal would obey are shown as `?`. */
const shownText = (text: string): string =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: a text may hold some, and a terminal would obey them.
  text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g, (found) => (found === '\r' ? '' : '?'));

function linesOf(shown: Preview, flow: string[] | undefined): string[] {
  const { subject, text, html, xml, segments, encoding, used, missing, warnings } = shown;
  const part = (title: string, content: string) => [`── ${title}`, shownText(content).trimEnd(), ''];
  return [
    ...(subject === undefined ? [] : part('subject', subject)),
    ...(text === undefined ? [] : part('text', text)),
    ...(html === undefined ? [] : part('html', html)),
    ...(xml === undefined ? [] : part('document', xml)),
    ...(flow === undefined ? [] : part('flow', flow.join('\n'))),
    ...(segments === undefined
      ? []
      : [`${segments} ${segments === 1 ? 'segment' : 'segments'}, ${encoding}`]),
    `Placeholders: ${used.join(', ') || 'none'}`,
    ...(missing.length > 0 ? [`Without a value: ${missing.join(', ')}`] : []),
    ...warnings.map(({ code, message }) => `Warning (${code}): ${shownText(message)}`),
  ];
}
