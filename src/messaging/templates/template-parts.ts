import { renderLayout } from '@fanfare/email-layout';
import type { Channel } from '../../domain/channel';
import { renderableLayout } from '../../domain/email-layout-render';
import { DomainError, type FieldError } from '../../domain/errors';
import { judgeVoiceTemplate } from '../../domain/voice/voice-template';
import type { TemplateContent, VersionContent } from './template-record';
import { derivedText } from './template-text';

/**
 * The parts that are derived once, when a template is saved. Where no body is given, an email's HTML comes from
 * its layout and a call's document from its flow; an email also gets a plain-text part. Throws
 * `invalid_request` for a layout that the renderer refuses.
 */
export function versionOf(channel: Channel, content: TemplateContent): VersionContent {
  if (channel === 'voice') {
    return {
      ...content,
      body: judgeVoiceTemplate({ body: content.body, flow: content.design }).body,
      text: null,
    };
  }
  if (channel !== 'email') return { ...content, text: null };
  const body =
    content.body.trim() === '' ? htmlOfLayout(content.design ?? {}, content.subject) : content.body;
  return { ...content, body, text: derivedText(body) };
}

/** A complete document. Placeholders stay unchanged, also in its title, and are filled later. */
function htmlOfLayout(layout: Record<string, unknown>, subject: string | null): string {
  const document = renderableLayout(layout);
  const html = withPlaceholders(tryToRender(document));
  const inside = html.slice(html.indexOf('<body>') + '<body>'.length, html.lastIndexOf('</body>'));
  const data = (layout.root as { data?: { lang?: unknown } } | undefined)?.data;
  const lang = typeof data?.lang === 'string' && LANGUAGE.test(data.lang) ? data.lang : 'en';
  return `<!DOCTYPE html>
<html lang="${lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${(subject ?? '').replace(/[&<>]/g, (character) => ENTITIES[character] as string)}</title>
</head>
<body style="margin:0">${inside}</body>
</html>
`;
}

/** BCP 47, strict enough to keep other text out of an attribute. */
const LANGUAGE = /^[A-Za-z]{2,8}(-[A-Za-z0-9]{1,8}){0,4}$/;

const ENTITIES: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;' };

/** Markdown percent-encodes addresses, including the braces of placeholders. */
function withPlaceholders(html: string): string {
  return html.replace(/%7B%7B(?:%20)*([A-Z][A-Z0-9_]*)(?:%20)*%7D%7D/g, '{{$1}}');
}

function tryToRender(document: Record<string, unknown>): string {
  try {
    return renderLayout(document);
  } catch (error) {
    throw notRenderable(document, error);
  }
}

/**
 * The renderer's error does not say which block it refused. Each block is therefore rendered alone, in an empty
 * layout.
 */
function notRenderable(document: Record<string, unknown>, cause: unknown): DomainError {
  const refused = Object.keys(document).filter((id) => !rendersAlone(id, document[id]));
  const errors: FieldError[] = (refused.length > 0 ? refused : ['root']).map((id) => ({
    path: `template.${id}`,
    code: 'not_renderable',
    message: 'This block cannot be rendered: a property has a value of a kind that its type does not take',
  }));
  const first = errors[0] as FieldError;
  return new DomainError('invalid_request', `${first.path}: ${first.message}`, { errors, cause });
}

function rendersAlone(id: string, block: unknown): boolean {
  const alone = {
    [id]: block,
    root: { type: 'EmailLayout', data: { childrenIds: id === 'root' ? [] : [id] } },
  };
  try {
    renderLayout(renderableLayout(id === 'root' ? { root: withoutChildren(block) } : alone));
    return true;
  } catch {
    return false;
  }
}

function withoutChildren(root: unknown): unknown {
  const { data, ...rest } = root as { data?: object };
  return { ...rest, data: { ...data, childrenIds: [] } };
}
