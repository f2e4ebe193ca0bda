import type { Channel } from '../domain/channel';

/** What a caller says about a template; each saving of it is a version that never changes. */
export interface TemplateContent {
  name: string;
  /** Email only. */
  subject: string | null;
  body: string;
  emailProviderId: string;
  /** The editor's state, as it came: an email layout or a voice flow. */
  design: Record<string, unknown> | null;
}

export interface Template extends TemplateContent {
  id: string;
  channel: Channel;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** Without what is large and lists do not show: an email's body and layout, a voice document. */
export type ListedTemplate = Omit<Template, 'body' | 'emailProviderId'> & { body: string | null };
