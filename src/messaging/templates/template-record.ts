import type { Channel } from '../../domain/channel';

/** What a caller says about a template; each saving of it is a version that never changes. */
export interface TemplateContent {
  name: string;
  /** Email only. */
  subject: string | null;
  /** Empty for an email that is to be rendered from its layout, and a call that is to be compiled from its flow. */
  body: string;
  emailProviderId: string;
  /** The editor's state, as it came: an email layout or a voice flow. */
  design: Record<string, unknown> | null;
}

/** A version's content as it is stored: with what is made of a caller's words once, when they are saved. */
export interface VersionContent extends TemplateContent {
  /** Email only: the plain-text part, placeholders and all. */
  text: string | null;
}

export interface Template extends VersionContent {
  id: string;
  channel: Channel;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** Without what is large and lists do not show: an email's body and layout, a voice document. */
export type ListedTemplate = Omit<Template, 'body' | 'text' | 'emailProviderId'> & { body: string | null };
