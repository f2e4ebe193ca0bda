import { type Calls, type KeyedOptions, queryOf, type RequestOptions, route } from './calls';
import type { AcceptedMessage } from './message-types';
import type { Channel, Params, Warning } from './types';

/** Texts with placeholders, in versions that never change. */
export class Templates {
  constructor(private readonly calls: Calls) {}

  /** All of a channel, newest first unless a `column` is named. */
  async *list(
    channel: Channel,
    options: RequestOptions & TemplateSearch = {},
  ): AsyncGenerator<ListedTemplate, void, undefined> {
    const { signal, ...search } = options;
    for (let page = 1, read = 0; ; page += 1) {
      const query = queryOf({ pageSize: 100, ...search, channel, page });
      const answer = await this.calls.whole<{ templates: ListedTemplate[]; total: number }>(
        `/api/template${query}`,
        { signal },
      );
      yield* answer.templates;
      read += answer.templates.length;
      if (answer.templates.length === 0 || read >= answer.total) return;
    }
  }

  async create(template: TemplateInput, options: KeyedOptions = {}): Promise<SavedTemplate> {
    return this.save('POST', '/api/template', template, options);
  }

  /** A new version of it. Campaigns keep the version that they name. */
  async replace(id: string, template: TemplateInput, options: KeyedOptions = {}): Promise<SavedTemplate> {
    return this.save('PUT', route`/api/template/${id}`, template, options);
  }

  /** The newest version unless one is named. */
  read(id: string, options: RequestOptions & { version?: number } = {}): Promise<Template> {
    return this.calls.get(route`/api/template/${id}` + queryOf({ version: options.version }), options);
  }

  /** All of its versions, newest first. */
  versions(id: string, options: RequestOptions = {}): Promise<TemplateVersion[]> {
    return this.calls.get(route`/api/template/${id}/versions`, options);
  }

  /** Lists no longer show it; versions that campaigns name go on working. */
  archive(id: string, options: RequestOptions = {}): Promise<{ id: string }> {
    return this.calls.delete(route`/api/template/${id}`, options);
  }

  preview(
    id: string,
    input: { params?: Params; contactId?: string; version?: number } = {},
    options: RequestOptions = {},
  ): Promise<TemplatePreview> {
    return this.calls.post(route`/api/template/${id}/preview`, input, options);
  }

  testSend(
    id: string,
    input: { to: string; from: string; params?: Params; version?: number },
    options: KeyedOptions = {},
  ): Promise<AcceptedMessage> {
    return this.calls.once(route`/api/template/${id}/test-send`, input, options);
  }

  private async save(
    method: 'POST' | 'PUT',
    path: string,
    template: TemplateInput,
    options: KeyedOptions,
  ): Promise<SavedTemplate> {
    const answer = await this.calls.onceWhole<{ template: Template; warnings: Warning[] }>(
      method,
      path,
      template,
      options,
    );
    return { ...answer.template, warnings: answer.warnings };
  }
}

/** One version of a template, and who saved it: a user or a client. */
export interface TemplateVersion {
  version: number;
  createdAt: string;
  createdBy: string | null;
  note?: string;
}

export interface TemplateSearch {
  column?: 'templateName' | 'createdAt' | 'updatedAt' | 'channel';
  direction?: 'asc' | 'desc';
  search?: string;
  pageSize?: number;
}

/** A document of the visual editors; what the server does not know of it is kept. */
export type Design = Record<string, unknown>;

/** `note`: what is said about the version in the list of them. */
export type TemplateInput = { note?: string | null } & (
  | { channel: 'sms'; templateName: string; body: string }
  | {
      channel: 'email';
      templateName: string;
      subject: string;
      /** HTML; left out, it is rendered from `template`. */
      body?: string | null;
      template?: Design | null;
      emailProviderId?: string | null;
    }
  | {
      channel: 'voice';
      templateName: string;
      /** XML; left out, it is compiled from `voiceJson`. */
      body?: string | null;
      voiceJson: Design;
    }
);

interface TemplateMembers {
  id: string;
  templateName: string;
  version: number;
  createdAt: string;
  updatedAt: string;
}

export type ListedTemplate = TemplateMembers &
  (
    | { channel: 'sms'; body: string }
    | { channel: 'email'; subject: string }
    | { channel: 'voice'; voiceJson: Design }
  );

export type Template = TemplateMembers &
  (
    | { channel: 'sms'; body: string }
    | {
        channel: 'email';
        subject: string;
        body: string;
        /** The plain-text part. */
        text: string | null;
        emailProviderId: string;
        template: Design | null;
      }
    | { channel: 'voice'; body: string; voiceJson: Design }
  );

export type SavedTemplate = Template & { warnings: Warning[] };

export interface TemplatePreview {
  templateId: string;
  channel: Channel;
  version: number;
  subject?: string;
  html?: string;
  text?: string;
  segments?: number;
  encoding?: 'gsm7' | 'ucs2';
  xml?: string;
  /** Every placeholder, in order of first appearance; and those without a value. */
  used: string[];
  missing: string[];
  warnings: Warning[];
}
