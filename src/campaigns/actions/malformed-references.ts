import type { Kysely } from 'kysely';
import { z } from 'zod';
import { CHANNELS } from '../../domain/channel';
import type { FieldError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { TemplateLookup } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { missingCampaigns, missingLists, noTemplate } from './campaign-checks';

const template = z.object({
  templateId: z.string().min(1).max(LIMITS.idChars),
  version: z.int32().min(1),
});
/** What is no id holds its place as an empty text. */
const id = z
  .string()
  .max(LIMITS.idChars)
  .catch(() => '');
const ids = z
  .array(id)
  .max(LIMITS.campaignLists)
  .catch(() => []);
const pathsOfNone = (at: string, all: readonly string[]) =>
  all.flatMap((one, i) => (one === '' ? [`${at}.${i}`] : []));

/** What of a malformed body names something. A member of another form names nothing. */
const references = z.object({
  channel: z.array(z.unknown()).catch(() => []),
  settings: z
    .record(
      z.string(),
      template.nullable().catch(() => null),
    )
    .catch(() => ({})),
  contactListId: ids,
  exclude: z.object({ campaignIds: ids }).catch(() => ({ campaignIds: [] })),
});

/**
 * The templates, lists and campaigns that a malformed body names and the workspace does not have, so that they are
 * reported together with what is malformed.
 */
export async function unknownReferences(
  { db, templates }: { db: Kysely<CampaignTables>; templates: TemplateLookup },
  workspaceId: string,
  body: unknown,
): Promise<FieldError[]> {
  const { data } = references.safeParse(body);
  if (!data) return [];
  const { channel, settings, contactListId, exclude } = data;
  const ofTemplates = CHANNELS.filter((one) => channel.includes(one)).map(async (one) => {
    const wanted = settings[one];
    if (!wanted) return [];
    // The request is refused in any case, so that a service that does not answer now changes nothing.
    const found = templates
      .find(workspaceId, one, wanted.templateId, wanted.version)
      .catch(() => 'unanswered');
    return (await found) ? [] : [noTemplate(one, wanted)];
  });
  const malformed = new Set([
    ...pathsOfNone('contactListId', contactListId),
    ...pathsOfNone('exclude.campaignIds', exclude.campaignIds),
  ]);
  const findings = [
    ...(await Promise.all(ofTemplates)).flat(),
    ...(await missingLists(db, workspaceId, contactListId)),
    ...(await missingCampaigns(db, workspaceId, exclude.campaignIds)),
  ];
  return findings
    .filter(({ path }) => !malformed.has(path))
    .map(({ path, code, message }) => ({ path, code, message }));
}
