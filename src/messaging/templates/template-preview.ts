import type { Channel } from '../../domain/channel';
import { measureSms, type SmsEncoding } from '../../domain/sms-encoding';
import { compileText, UNSUBSCRIBE_URL } from '../../domain/template';
import { lintPlaceholders } from '../../domain/template-lint';
import { lintEmail, lintSms } from '../../domain/template-preview-lint';
import type { ValidationIssue } from '../../domain/validation-issue';
import { lintOtherDocuments } from '../../domain/voice/call-documents';
import { parseVoiceXml } from '../../domain/voice/parse-voice-xml';
import { judgeVoiceTemplate } from '../../domain/voice/voice-template';
import { requireRenderedSize } from './rendered-size';
import type { Template } from './template-record';
import { type CompiledTemplate, compileTemplate } from './template-versions';

type Params = Readonly<Record<string, string | number>>;

/** A template's parts as one recipient would get them. */
export interface TemplatePreview {
  templateId: string;
  channel: Channel;
  version: number;
  subject?: string | undefined;
  html?: string | undefined;
  /** The text of an SMS, or an email's plain-text part. */
  text?: string | undefined;
  segments?: number | undefined;
  encoding?: SmsEncoding | undefined;
  xml?: string | undefined;
  /** Every placeholder, in order of first appearance; `missing` are those without a value. */
  used: readonly string[];
  missing: readonly string[];
  warnings: ValidationIssue[];
}

/**
 * Fills the template with the same compiler as messages. A placeholder without a value stays visible. Throws
 * `invalid_request` for values that make it too large to send.
 */
export function previewOf(template: Template, params: Params): TemplatePreview {
  const compiled = compileTemplate(template);
  const used = compiled.placeholders;
  const missing = used.filter((name) => params[name] === undefined && !isOwn(template.channel, name));
  const shown = {
    ...params,
    ...Object.fromEntries(
      used.filter((name) => params[name] === undefined).map((name) => [name, `{{${name}}}`]),
    ),
  };
  const { id: templateId, channel, version } = template;
  requireRenderedSize(channel, compiled, shown);
  return {
    ...{ templateId, channel, version },
    ...partsOf(template, compiled, { params, shown }),
    ...{ used, missing },
  };
}

const isOwn = (channel: Channel, name: string) => channel === 'email' && name === UNSUBSCRIBE_URL;

export const placeholdersIn = (template: Template): readonly string[] =>
  compileTemplate(template).placeholders;

type Parts = Omit<TemplatePreview, 'templateId' | 'channel' | 'version' | 'used' | 'missing'>;

function partsOf(
  template: Template,
  compiled: CompiledTemplate,
  { params, shown }: { params: Params; shown: Params },
): Parts {
  const braces = lintPlaceholders([
    ...(template.subject === null ? [] : [{ path: 'subject', text: template.subject }]),
    { path: 'body', text: template.body },
  ]);
  const body = compiled.body.render(shown);
  if (template.channel === 'voice') return { xml: body, warnings: [...braces, ...lintVoice(template, body)] };
  if (template.channel === 'sms') {
    // Measured without unfilled placeholders, because their braces need more septets than a value.
    const measured = compileText(template.body, 'none').render(params);
    return { text: body, ...measureSms(measured), warnings: [...braces, ...lintSms(measured)] };
  }
  const subject = compiled.subject?.render(shown) ?? '';
  return {
    subject,
    html: body,
    text: compiled.text?.render(shown),
    warnings: [
      ...braces,
      ...lintEmail({
        subject,
        source: template.body,
        html: body,
        params: { [UNSUBSCRIBE_URL]: 'https:', ...params },
      }),
    ],
  };
}

/** The warnings of the saved template, and problems that these values cause: a pause of a year, for example. */
function lintVoice(template: Template, rendered: string): ValidationIssue[] {
  const { findings } = judgeVoiceTemplate({ body: template.body, flow: template.design });
  // A stored template has no errors of its own.
  const { program, findings: ofRendered } = parseVoiceXml(rendered);
  const ofValues = ofRendered.filter(({ severity }) => severity === 'error');
  const elsewhere = program ? lintOtherDocuments(program) : [];
  return [...findings, ...ofValues, ...elsewhere].map((finding) => ({ ...finding, severity: 'warning' }));
}
