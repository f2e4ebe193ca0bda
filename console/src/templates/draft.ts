import type { CreateTemplateData, ReadTemplateResponse } from '../api/types.gen';
import { EMPTY_LAYOUT, type Layout } from './blocks';
import { EMPTY_FLOW, type Flow } from './flow';

export type Channel = 'email' | 'sms' | 'voice';
export type Template = ReadTemplateResponse['data'];

/** What is being written: fields of every channel, and which of two forms of the content is the one to be saved. */
export interface Draft {
  templateName: string;
  subject: string;
  body: string;
  emailProviderId: string;
  layout: Layout;
  flow: Flow;
  /** `design`: blocks or a graph, from which the body is made; `body`: HTML or XML by hand. */
  source: 'design' | 'body';
}

export function draftOf(channel: Channel, template: Template | undefined): Draft {
  const isEmail = template?.channel === 'email';
  const isVoice = template?.channel === 'voice';
  const flow = isVoice ? (template.voiceJson as unknown as Flow) : EMPTY_FLOW;
  const hasDesign = template === undefined || (isEmail ? template.template !== null : flow.nodes.length > 0);
  return {
    templateName: template?.templateName ?? '',
    subject: isEmail ? template.subject : '',
    body: template?.body ?? '',
    emailProviderId: isEmail ? template.emailProviderId : '',
    layout: (isEmail ? template.template : null) ?? EMPTY_LAYOUT,
    flow,
    source: channel === 'sms' || !hasDesign ? 'body' : 'design',
  };
}

export function bodyOf(channel: Channel, draft: Draft): CreateTemplateData['body'] {
  const { templateName, subject, body, emailProviderId, layout, flow, source } = draft;
  if (channel === 'sms') return { channel, templateName, body };
  const isDesigned = source === 'design';
  if (channel === 'email') {
    const content = isDesigned ? { body: '', template: layout } : { body, template: null };
    return { channel, templateName, subject, emailProviderId, ...content };
  }
  return { channel, templateName, body: isDesigned ? '' : body, voiceJson: { ...flow } };
}

/** The texts of a draft in which placeholders may stand. */
export function textsOf(channel: Channel, draft: Draft): string[] {
  if (channel === 'sms' || draft.source === 'body') return [draft.subject, draft.body];
  return [draft.subject, JSON.stringify(channel === 'email' ? draft.layout : draft.flow)];
}

/** A template as one text: its name, its subject, and its content with a line for each tag of markup. */
export function textOf(template: Template): string {
  const body = template.channel === 'sms' ? template.body : template.body.replace(/>\s*</g, '>\n<');
  const subject = template.channel === 'email' ? [template.subject] : [];
  return [template.templateName, ...subject, body].join('\n');
}

/** The same of what is being written, whose blocks or graph have not been rendered. */
export function textOfDraft(channel: Channel, draft: Draft): string {
  const subject = channel === 'email' ? [draft.subject] : [];
  const design = channel === 'email' ? draft.layout : draft.flow;
  const content = draft.source === 'design' ? JSON.stringify(design, null, 2) : draft.body;
  return [draft.templateName, ...subject, content].join('\n');
}
