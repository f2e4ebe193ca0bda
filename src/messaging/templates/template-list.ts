import { type Kysely, type RawBuilder, sql } from 'kysely';
import type { Channel } from '../../domain/channel';
import type { MessagingTables } from '../model/tables';
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
 * A page of the live templates of a channel, each with its newest version. Without a search term it costs the
 * same however many there are, because every order has an index and the total is stored. A search reads every
 * live template of the channel once; docs/templates.md says how long that takes.
 */
export async function listTemplates(
  db: Kysely<MessagingTables>,
  workspaceId: string,
  input: TemplateListInput,
): Promise<TemplateList> {
  const key = { workspaceId, channel: input.channel };
  const rows = await readPage(db, key, input);
  const templates = rows.map(({ total: _, ...template }) => template);
  if (rows[0]) return { templates, total: rows[0].total };
  // An empty page has no row that carries the total.
  return { templates, total: await (input.search === undefined ? liveCount : foundCount)(db, key, input) };
}

interface Key {
  workspaceId: string;
  channel: Channel;
}

async function readPage(db: Kysely<MessagingTables>, key: Key, input: TemplateListInput) {
  const { search, page, pageSize } = input;
  // Cut the page before the join, because the rows before it would be joined too.
  const found = matching(db, key, input)
    .select(['t.id', 't.channel', 't.name', 't.current_version', 't.created_at', 't.updated_at'])
    .select((search === undefined ? liveTotal(db, key) : sql<number>`count(*) over ()`).as('total'))
    .orderBy(orderOf(input))
    .limit(pageSize)
    .offset((page - 1) * pageSize);
  return db
    .selectFrom(found.as('t'))
    .innerJoin('template_versions as v', (join) =>
      join.onRef('v.template_id', '=', 't.id').onRef('v.version', '=', 't.current_version'),
    )
    .select(['t.id', 't.channel', 't.name', 'v.version', 'v.subject', 't.created_at as createdAt'])
    .select([
      't.updated_at as updatedAt',
      sql<string | null>`case when t.channel = 'sms' then v.body end`.as('body'),
      sql<Record<string, unknown> | null>`case when t.channel = 'voice' then v.design end`.as('design'),
      't.total',
    ])
    .orderBy(orderOf(input))
    .execute();
}

const liveTotal = (db: Kysely<MessagingTables>, { workspaceId, channel }: Key) =>
  sql<number>`coalesce((${db
    .selectFrom('template_counts')
    .select('live')
    .where('workspace_id', '=', workspaceId)
    .where('channel', '=', channel)}), 0)`;

async function liveCount(db: Kysely<MessagingTables>, key: Key): Promise<number> {
  const { rows } = await sql<{ total: number }>`select ${liveTotal(db, key)} as total`.execute(db);
  return rows[0]?.total ?? 0;
}

async function foundCount(db: Kysely<MessagingTables>, key: Key, input: TemplateListInput): Promise<number> {
  if (input.page === 1) return 0;
  const { total } = await matching(db, key, input)
    .select((on) => on.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow();
  return total;
}

function matching(
  db: Kysely<MessagingTables>,
  { workspaceId, channel }: Key,
  { search }: Pick<TemplateListInput, 'search'>,
) {
  const live = db
    .selectFrom('templates as t')
    .where('t.workspace_id', '=', workspaceId)
    .where('t.channel', '=', channel)
    .where('t.archived_at', 'is', null);
  return search === undefined
    ? live
    : live.where(sql<boolean>`position(${search.toLowerCase()}::text in t.search_text) > 0`);
}

/** Names are compared without case and by code point, whatever the database's collation. */
const COLUMNS: Record<TemplateColumn, { by: RawBuilder<unknown>[]; direction: 'asc' | 'desc' }> = {
  templateName: {
    by: [sql`lower(t.name) collate "C"`, sql`t.name collate "C"`, sql`t.id`],
    direction: 'asc',
  },
  createdAt: { by: [sql`t.created_at`, sql`t.id`], direction: 'desc' },
  updatedAt: { by: [sql`t.updated_at`, sql`t.id`], direction: 'desc' },
  // All templates of a list have the same channel.
  channel: { by: [sql`t.id collate "C"`], direction: 'asc' },
};

function orderOf({ column = 'createdAt', direction }: Pick<TemplateListInput, 'column' | 'direction'>) {
  const known = COLUMNS[column];
  const way = sql.raw(direction ?? known.direction);
  return sql.join(known.by.map((by) => sql`${by} ${way}`));
}
