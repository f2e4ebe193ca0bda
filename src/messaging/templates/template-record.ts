import type { Channel } from '../../domain/channel';

/** A template's content as a caller gives it. Each save creates a version that never changes. */
export interface TemplateContent {
  name: string;
  /** Email only. */
  subject: string | null;
  /** Empty for an email that is rendered from its layout, and for a call that is compiled from its flow. */
  body: string;
  emailProviderId: string;
  /** The editor's state, unchanged: an email layout or a voice flow. */
  design: Record<string, unknown> | null;
}

/** A version's content as it is stored, with the parts that are derived when it is saved. */
export interface VersionContent extends TemplateContent {
  /** Email only: the plain-text part, with its placeholders. */
  text: string | null;
}

/** Who saves a version, and what they say about it. */
export interface VersionOrigin {
  /** A user, or the client whose token it was. */
  by?: string | undefined;
  note?: string | undefined;
}

/** A version as the list of them shows it. */
export interface ListedVersion {
  version: number;
  createdAt: Date;
  /** Null for versions that were saved before it was recorded. */
  createdBy: string | null;
  note: string | null;
}

export interface Template extends VersionContent {
  id: string;
  channel: Channel;
  version: number;
  createdAt: Date;
  updatedAt: Date;
}

/** Without the large parts that lists do not show: an email's body and layout, a voice document. */
export type ListedTemplate = Omit<Template, 'body' | 'text' | 'emailProviderId'> & { body: string | null };
