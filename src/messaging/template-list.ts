import { type Kysely, type RawBuilder, type SelectQueryBuilder, sql } from 'kysely';
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

/**
 * A page of the live templates of a channel, each with its newest version. Without a search term it costs
 * the same however many there are: an index for every order, and a total that is kept, not counted. A
 * search looks at every live template of the channel; see docs/templates.md for what that takes.
 */
export async function listTemplates(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  { channel, search, page, pageSize, ...order }: TemplateListInput,
): Promise<TemplateList> {
  let matching = db
    .selectFrom('templates as t')
    .where('t.workspace_id', '=', workspaceId)
    .where('t.channel', '=', channel)
    .where('t.archived_at', 'is', null);
  if (search !== undefined) {
    matching = matching.where(sql<boolean>`position(${search.toLowerCase()}::text in t.search_text) > 0`);
  }
  const shown = matching
    .innerJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.current_version'),
    )
    .select(['t.id', 't.channel', 't.name', 'v.version', 'v.subject', 't.created_at as createdAt'])
    .select([
      't.updated_at as updatedAt',
      sql<string | null>`case when t.channel = 'sms' then v.body end`.as('body'),
      sql<Record<string, unknown> | null>`case when t.channel = 'voice' then v.design end`.as('design'),
    ])
    .orderBy(orderOf(order))
    .limit(pageSize)
    .offset((page - 1) * pageSize);
  const [templates, total] = await Promise.all([
    shown.execute(),
    search === undefined ? kept(db, workspaceId, channel) : counted(matching),
  ]);
  return { templates, total };
}

async function kept(db: Kysely<MessagingTables>, workspaceId: string, channel: Channel): Promise<number> {
  const row = await db
    .selectFrom('template_counts')
    .select('live')
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', channel)
    .executeTakeFirst();
  return row?.live ?? 0;
}

async function counted(matching: SelectQueryBuilder<Live, 't', object>): Promise<number> {
  const { total } = await matching
    .select((on) => on.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

type Live = MessagingTables & { t: MessagingTables['templates'] };

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
