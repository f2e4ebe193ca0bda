import { z } from 'zod';
import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { ApiClient } from './api-client';

const listed = z.looseObject({ id: z.string(), templateName: z.string(), version: z.number() });
export type ListedTemplate = z.infer<typeof listed>;

const list = z.object({ templates: z.array(listed), total: z.number() });

/** The channel's templates that are not archived, newest first. */
export async function* listTemplates(
  api: ApiClient,
  channel: Channel,
  search?: string,
): AsyncGenerator<ListedTemplate> {
  const pageSize = LIMITS.pageSizeMax;
  for (let page = 1; ; page++) {
    const query = new URLSearchParams({ channel, page: String(page), pageSize: String(pageSize) });
    if (search) query.set('search', search);
    const { templates, total } = await api.get(`/api/template/?${query}`, list);
    yield* templates;
    if (page * pageSize >= total || templates.length === 0) return;
  }
}

/** Names are unique within a channel; the search also returns templates with the same words elsewhere. */
export async function findTemplate(
  api: ApiClient,
  channel: Channel,
  name: string,
): Promise<ListedTemplate | undefined> {
  for await (const template of listTemplates(api, channel, name)) {
    if (template.templateName === name) return template;
  }
  return undefined;
}

const whole = z.object({
  template: z.looseObject({
    id: z.string(),
    templateName: z.string(),
    channel: z.enum(['email', 'sms', 'voice']),
    version: z.number(),
    body: z.string(),
    subject: z.string().nullish(),
    emailProviderId: z.string().nullish(),
    template: z.record(z.string(), z.unknown()).nullish(),
    voiceJson: z.record(z.string(), z.unknown()).nullish(),
  }),
});
export type WholeTemplate = z.infer<typeof whole>['template'];

export async function readTemplate(api: ApiClient, id: string): Promise<WholeTemplate> {
  return (await api.get(`/api/template/${encodeURIComponent(id)}`, whole)).template;
}

export { whole as wholeTemplate };
