import { type Kysely, sql } from 'kysely';
import type { Control } from '../../domain/campaign';
import { DomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import type { CampaignTables } from '../model/tables';
import { wantedControl } from '../stops/wanted-control';

export interface RunPace {
  control: Control;
  ratePerSecond: number | null;
}

type Reader = (runId: string) => Promise<RunPace>;

const readers = new WeakMap<Kysely<CampaignTables>, Reader>();

/**
 * Reads what a waiting page needs: whether to continue, and how fast. All pages of this process that ask at the
 * same moment share one statement, because a thousand pages asking five times a second would send five
 * thousand.
 */
export function readPaceTogether(db: Kysely<CampaignTables>, runId: string): Promise<RunPace> {
  let reader = readers.get(db);
  if (!reader) {
    reader = createReader(db);
    readers.set(db, reader);
  }
  return reader(runId);
}

function createReader(db: Kysely<CampaignTables>): Reader {
  let next: { runIds: Set<string>; found: Promise<Map<string, RunPace>> } | undefined;

  return async (runId) => {
    if (!next) {
      const runIds = new Set<string>();
      const found = new Promise((done) => setTimeout(done, LIMITS.paceGatherMs)).then(() => {
        next = undefined;
        return readPaces(db, [...runIds]);
      });
      next = { runIds, found };
    }
    next.runIds.add(runId);
    const pace = (await next.found).get(runId);
    if (!pace) throw new DomainError('run_not_found', `Run ${runId} does not exist`);
    return pace;
  };
}

async function readPaces(db: Kysely<CampaignTables>, runIds: string[]): Promise<Map<string, RunPace>> {
  const { rows } = await sql<RunPace & { id: string }>`
    select r.id, ${wantedControl(sql`r`)} as control, p.rate as "ratePerSecond" from runs r left join run_paces p on p.run_id = r.id
    where r.id = any(${runIds}::text[])`.execute(db);
  return new Map(rows.map((row) => [row.id, row]));
}
