import { type Kysely, sql } from 'kysely';
import type { CampaignListQuery } from '../../contracts/campaigns';
import { phaseExpression, statusExpression } from '../model/campaign-phase';
import type { CampaignSummary } from '../model/campaign-record';
import { likePattern } from '../model/like-pattern';
import type { CampaignTables } from '../model/tables';

/** One page of a workspace's campaigns (messaging-service.md, List campaigns); equal values are ordered by id. */
export async function listCampaigns(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  query: CampaignListQuery,
): Promise<{ campaigns: CampaignSummary[]; total: number }> {
  const matching = sql`
    from campaigns c left join runs r on r.id = c.current_run
    where c.workspace_id = ${workspaceId}
      and ${query.channel === 'all' ? sql`true` : sql`${query.channel} = any(c.channels)`}
      and ${query.search ? sql`c.name ilike ${likePattern(query.search)}` : sql`true`}
      and ${query.status ? sql`${statusExpression} = ${query.status}` : sql`true`}
      and ${query.tag ? sql`${query.tag} = any(c.tags)` : sql`true`}
      and c.archived_at is ${query.archived ? sql`not null` : sql`null`}
      and ${query.dateFrom ? sql`c.created_at >= ${query.dateFrom}::date` : sql`true`}
      and ${query.dateTo ? sql`c.created_at < ${query.dateTo}::date + 1` : sql`true`}`;
  const direction = sql.raw(query.direction ?? (query.column === 'name' ? 'asc' : 'desc'));
  const column = { name: sql`lower(c.name)`, createdAt: sql`c.created_at`, status: statusExpression }[
    query.column ?? 'createdAt'
  ];
  const { rows } = await sql<CampaignSummary>`
    select c.id, c.name, c.channels as channel, ${statusExpression} as status, ${phaseExpression} as phase,
      c.created_at as "createdAt", c.tags, c.archived_at is not null as archived
    ${matching}
    order by ${column} ${direction}, c.id ${direction}
    limit ${query.limit} offset ${(query.page - 1) * query.limit}`.execute(db);
  const counted = await sql<{ total: number }>`select count(*)::int as total ${matching}`.execute(db);
  return { campaigns: rows, total: counted.rows[0]?.total ?? 0 };
}
