import { Kysely, PostgresDialect, type PostgresDialectConfig } from 'kysely';
import { escapeLiteral } from 'pg';
import type { CampaignTables } from '../../src/campaigns/model/tables';
import { openPostgresPool, textOf } from '../../src/storage/postgres';

/** A node of a plan, as EXPLAIN (FORMAT JSON) tells it. */
export interface PlanNode {
  'Node Type': string;
  'Relation Name'?: string;
  'Index Name'?: string;
  'CTE Name'?: string;
  'Actual Rows'?: number;
  'Actual Loops'?: number;
  'Rows Removed by Filter'?: number;
  'Rows Removed by Index Recheck'?: number;
  Plans?: PlanNode[];
}

export interface Explained {
  text: string;
  /** As it ran, with these very parameters. */
  plan: PlanNode;
  /** As a prepared statement may be planned, once for all parameters. */
  generic: PlanNode;
  ms: number;
}

export interface ExplainingDatabase {
  db: Kysely<CampaignTables>;
  /** Every statement that ran since it was last asked, with its plans. */
  take(): Explained[];
  close(): Promise<void>;
}

const PLANNED = /^\s*(with|select|insert|update|delete)\b/i;

/**
 * A database on which each statement is explained just before it runs, in its own transaction and with what
 * it was given: the plans are those of the product's own statements, whoever builds them. The place is that of
 * a migrated database. It has one connection.
 */
export async function openExplaining(place: { databaseUrl: string }): Promise<ExplainingDatabase> {
  const pool = await openPostgresPool(place.databaseUrl, { size: 1 });
  const seen: Explained[] = [];
  const explaining = {
    async connect() {
      const client = await (pool as unknown as Connecting).connect();
      let inTransaction = false;
      return {
        async query(text: string, values: readonly unknown[]) {
          if (PLANNED.test(text)) seen.push(await explain(client, text, values, inTransaction));
          const answer = await client.query(text, values);
          if (/^\s*begin/i.test(text)) inTransaction = true;
          if (/^\s*(commit|rollback)/i.test(text)) inTransaction = false;
          return answer;
        },
        release: () => client.release(),
      };
    },
    end: () => pool.end(),
  } as unknown as PostgresDialectConfig['pool'];
  const db = new Kysely<CampaignTables>({ dialect: new PostgresDialect({ pool: explaining }) });
  return { db, take: () => seen.splice(0), close: () => db.destroy() };
}

interface Client {
  query(text: string, values: readonly unknown[]): Promise<{ rows: Record<string, unknown>[] }>;
  release(): void;
}

interface Connecting {
  connect(): Promise<Client>;
}

/** What the statement would change is undone. */
async function explain(
  client: Client,
  text: string,
  values: readonly unknown[],
  inTransaction: boolean,
): Promise<Explained> {
  await client.query(inTransaction ? 'savepoint explained' : 'begin', []);
  const begun = performance.now();
  const { rows } = await client.query(`explain (analyze, timing off, format json) ${text}`, values);
  const ms = performance.now() - begun;
  await client.query(inTransaction ? 'rollback to explained' : 'rollback', []);
  return { text, plan: planOf(rows), generic: await explainGeneric(client, text, values), ms };
}

async function explainGeneric(client: Client, text: string, values: readonly unknown[]): Promise<PlanNode> {
  const given = values.map((value) => {
    const literal = textOf(value);
    return literal === null ? 'null' : escapeLiteral(literal);
  });
  await client.query(`prepare explained as ${text}`, []);
  await client.query('set plan_cache_mode = force_generic_plan', []);
  const call = given.length ? `explained (${given.join(', ')})` : 'explained';
  const { rows } = await client.query(`explain (format json) execute ${call}`, []);
  await client.query('set plan_cache_mode = auto', []);
  await client.query('deallocate explained', []);
  return planOf(rows);
}

function planOf(rows: Record<string, unknown>[]): PlanNode {
  const [row] = rows;
  const [explained] = (row?.['QUERY PLAN'] ?? []) as { Plan: PlanNode }[];
  if (!explained) throw new Error('there is no plan');
  return explained.Plan;
}

/** A plan's nodes, outermost first. */
export function* nodesOf(plan: PlanNode): Generator<PlanNode> {
  yield plan;
  for (const child of plan.Plans ?? []) yield* nodesOf(child);
}

/** Rows of a table that a plan looked at, also those that it then left out. */
export function rowsRead(plan: PlanNode, table: string): number {
  let rows = 0;
  for (const node of nodesOf(plan)) {
    if (node['Relation Name'] !== table || !node['Node Type'].includes('Scan')) continue;
    const each =
      (node['Actual Rows'] ?? 0) +
      (node['Rows Removed by Filter'] ?? 0) +
      (node['Rows Removed by Index Recheck'] ?? 0);
    rows += each * (node['Actual Loops'] ?? 1);
  }
  return rows;
}
