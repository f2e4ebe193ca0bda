import type { Channel } from '../domain/channel';
import { DomainError } from '../domain/errors';
import { LIMITS } from '../domain/limits';
import { ANY_PLACEHOLDER, ifThere, placeholdersOf, UNSUBSCRIBE_URL } from '../domain/template';
import type { TemplateInfo } from './gateway';
import type { ServiceCalls } from './service-calls';
import { refusal } from './transport';

/** A template of a service like our own, which shows one with its body. */
export async function findOwnTemplate(
  service: ServiceCalls,
  channel: Channel,
  id: string,
  version: number,
): Promise<TemplateInfo | undefined> {
  const path = `/api/template/${encodeURIComponent(id)}?version=${version}`;
  const answer = await service.call('app', 'GET', path);
  if (answer.status === 404) return undefined;
  if (answer.status !== 200) throw refusal('GET /api/template', answer);
  const { template } = answer.body as { template: Record<string, unknown> };
  if (template.channel !== channel) return undefined;
  const info = templateInfo(template, version);
  // Our own service fills this placeholder itself.
  const placeholders = info.placeholders.map((name) =>
    channel === 'email' && name === UNSUBSCRIBE_URL ? ifThere(name) : name,
  );
  return { ...info, placeholders };
}

/** The specification has only a list with pages, which shows an email's subject and not its body. */
export async function findListedTemplate(
  service: ServiceCalls,
  channel: Channel,
  id: string,
): Promise<TemplateInfo | undefined> {
  for (let page = 1; page <= LIMITS.templatePages; page++) {
    const answer = await service.call('app', 'GET', `/api/template/?channel=${channel}&page=${page}`);
    if (answer.status !== 200) throw refusal('GET /api/template/', answer);
    const { templates, pageSize, total } = (answer.body ?? {}) as {
      templates?: Record<string, unknown>[];
      pageSize?: number;
      total?: number;
    };
    if (!Array.isArray(templates)) {
      throw new DomainError('dependency_down', 'The messaging service answered a list without templates');
    }
    const found = templates.find((template) => template.id === id);
    if (found) return templateInfo(found, Number(found.version ?? 1));
    if (!templates.length || page * (pageSize ?? templates.length) >= (total ?? Infinity)) return undefined;
  }
  return undefined;
}

/** A template whose body is not shown may contain any placeholder. */
function templateInfo(template: Record<string, unknown>, version: number): TemplateInfo {
  const body = typeof template.body === 'string' ? template.body : undefined;
  const texts = [template.subject, body, ...flowTexts(template.voiceJson)];
  const placeholders = placeholdersOf(...texts.filter((text) => typeof text === 'string'));
  return {
    name: String(template.templateName),
    version,
    placeholders: body === undefined ? [...placeholders, ANY_PLACEHOLDER] : placeholders,
    text: template.channel === 'email' ? undefined : body,
  };
}

function flowTexts(flow: unknown): unknown[] {
  const nodes = (flow as { nodes?: unknown } | null | undefined)?.nodes;
  if (!Array.isArray(nodes)) return [];
  return nodes.map((node: { data?: { text?: unknown } | null } | null) => node?.data?.text);
}
