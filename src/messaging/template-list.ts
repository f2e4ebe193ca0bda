import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../domain/channel';
import type { MessagingTables } from './tables';
import type { ListedTemplate } from './template-record';

export type TemplateColumn = 'templateName' | 'createdAt' | 'updatedAt' | 'channel';

export interface TemplateListInput {
  channel: Channel;
  column?: TemplateColumn | undefined;
  direction?: 'asc' | 'desc' | undefined;
  search?: string | undefined;
  page: number;
  pageSize: number;
}

export interface TemplateList {
  templates: ListedTemplate[];
  total: number;
}

/** A page of the live templates of a channel, each with its newest version. */
export async function listTemplates(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  { channel, search, page, pageSize, ...order }: TemplateListInput,
): Promise<TemplateList> {
  let matching = db
    .selectFrom('templates as t')
    .innerJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.current_version'),
    )
    .where('t.workspace_id', '=', workspaceId)
    .where('t.channel', '=', channel)
    .where('t.archived_at', 'is', null);
  if (search !== undefined) {
    matching = matching.where(sql<boolean>`position(${search.toLowerCase()}::text in v.search_text) > 0`);
  }
  const { total } = await matching
    .select((on) => on.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  const templates = await matching
    .select(['t.id', 't.channel', 't.name', 'v.version', 'v.subject', 't.created_at as createdAt'])
    .select([
      't.updated_at as updatedAt',
      sql<string | null>`case when t.channel = 'sms' then v.body end`.as('body'),
      sql<Record<string, unknown> | null>`case when t.channel = 'voice' then v.design end`.as('design'),
    ])
    .orderBy(orderOf(order))
    .limit(pageSize)
    .offset((page - 1) * pageSize)
    .execute();
  return { templates, total };
}

/** Names compare without case, and by code point on both engines, whatever their collation. */
const COLUMNS: Record<TemplateColumn, { by: RawBuilder<unknown>[]; direction: 'asc' | 'desc' }> = {
  templateName: { by: [sql`lower(t.name) collate "C"`, sql`t.name collate "C"`], direction: 'asc' },
  createdAt: { by: [sql`t.created_at`], direction: 'desc' },
  updatedAt: { by: [sql`t.updated_at`], direction: 'desc' },
  channel: { by: [sql`t.channel`], direction: 'asc' },
};

function orderOf({ column = 'createdAt', direction }: Pick<TemplateListInput, 'column' | 'direction'>) {
  const known = COLUMNS[column];
  const way = sql.raw(direction ?? known.direction);
  return sql.join([...known.by, sql`t.id`].map((by) => sql`${by} ${way}`));
}
