import type { Kysely } from 'kysely';
import type { CampaignReferences } from '../../contracts/campaign-references';
import { CHANNELS } from '../../domain/channel';
import type { FieldError } from '../../domain/errors';
import type { TemplateLookup } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { missingCampaigns, missingLists, noTemplate } from './campaign-checks';

/**
 * The templates, lists and campaigns that a malformed body names and the workspace does not have, so that they are
 * reported together with what is malformed.
 */
export async function unknownReferences(
  { db, templates }: { db: Kysely<CampaignTables>; templates: TemplateLookup },
  workspaceId: string,
  { channel, settings, contactListId, exclude }: CampaignReferences,
): Promise<FieldError[]> {
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

const pathsOfNone = (at: string, all: readonly string[]) =>
  all.flatMap((one, i) => (one === '' ? [`${at}.${i}`] : []));
