import { useEffect, useRef, useState } from 'react';
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

/** A draft that outlives a reload of the page, until it is saved or thrown away. */
export function useDraft(key: string, initial: Draft) {
  const place = placeOf(key);
  const [draft, setDraft] = useState<Draft>(() => {
    const kept = sessionStorage.getItem(place);
    return kept === null ? initial : { ...initial, ...(JSON.parse(kept) as Partial<Draft>) };
  });
  const isChanged = JSON.stringify(draft) !== JSON.stringify(initial);
  useEffect(() => {
    if (isChanged) sessionStorage.setItem(place, JSON.stringify(draft));
    else sessionStorage.removeItem(place);
  }, [draft, isChanged, place]);
  const latest = useRef(draft);
  latest.current = draft;
  /** What was sent is kept by the server now; what was typed while it was on its way is the next version's draft. */
  const saved = (sent: Draft, next: string) => {
    sessionStorage.removeItem(place);
    const typed = JSON.stringify(latest.current);
    if (typed !== JSON.stringify(sent)) sessionStorage.setItem(placeOf(next), typed);
  };
  return { draft, setDraft, isChanged, saved };
}

export const keyOf = ({ id, version }: Pick<Template, 'id' | 'version'>) => `${id}.${version}`;

const placeOf = (key: string) => `fanfare.draft.${key}`;
