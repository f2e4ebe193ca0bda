import type { Kysely } from 'kysely';
import type { MessagingTables } from '../model/tables';

/**
 * One template `t` in one version `v`, for which the caller chooses the columns. Without a version it is the
 * current version of a template that is not archived. A named version is also found in an archived template,
 * because messages sent with it must stay readable.
 */
export function selectTemplateVersion(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  templateId: string,
  version: number | undefined,
) {
  const query = db
    .selectFrom('templates as t')
    .innerJoin('template_versions as v', 'v.template_id', 't.id')
    .where('t.workspace_id', '=', workspaceId)
    .where('t.id', '=', templateId);
  return version === undefined
    ? query.whereRef('v.version', '=', 't.current_version').where('t.archived_at', 'is', null)
    : query.where('v.version', '=', version);
}
