import { type RawBuilder, sql, type Transaction } from 'kysely';
import { isLive } from '../../domain/campaign';
import { DomainError } from '../../domain/errors';
import { stagesOf } from '../../domain/release';
import type { CampaignTables } from '../model/tables';
import { hasOccurrencesAtOnce, lockCampaignOf, type RunPlan } from '../runs/runs';
import { wantedControl } from '../stops/wanted-control';

/** Where the stages of a run stand (`run_releases`, `run_stages`, migration 0057). */
export interface ReleaseStanding {
  /** It is live, and nothing else is wanted of it. One that is completed stays so, whatever its late outcomes. */
  goesOn: boolean;
  launch: number;
  /** How many stages there are, and which has begun last; 0 before the first. */
  stages: number;
  stage: number;
  /** Contacts of the whole audience; null until their order is drawn. */
  contacts: number | null;
  releasedTo: number;
  passedTo: number;
  closedAt: Date | null;
  /** When the latest stage began. */
  begunAt: Date | null;
  openedAt: Date | null;
  sentAt: Date | null;
  nextAt: Date | null;
  /** By the database's clock, as all times here are. */
  now: Date;
}

/** The order of a run's contacts: random, another one for each run, and the same however often it is asked for. */
export const drawOf = (runId: string, contactId: RawBuilder<unknown>) =>
  sql`md5(${runId}::text || '.' || ${contactId})::uuid`;

/** The ends of the order: before the first contact, and after the last. */
export const FIRST_PLACE = '00000000-0000-0000-0000-000000000000';
export const LAST_PLACE = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/**
 * Reads where a run's stages stand and keeps it so until the transaction ends. The run's row is locked first, as by the
 * operator's actions: in the other order the two would wait for each other. So is the campaign's, where a gate that closes
 * pauses other runs too.
 */
export async function lockRelease(
  tx: Transaction<CampaignTables>,
  { runId, workspaceId, options }: Pick<RunPlan, 'runId' | 'workspaceId' | 'options'>,
): Promise<ReleaseStanding> {
  if (hasOccurrencesAtOnce(options)) await lockCampaignOf(tx, runId);
  const run = await tx
    .selectFrom('runs')
    .select([wantedControl().as('control'), 'phase', 'launches as launch'])
    .where('id', '=', runId)
    .where('workspace_id', '=', workspaceId)
    .forUpdate()
    .executeTakeFirst();
  if (!run) throw new DomainError('run_not_found', `Run ${runId} does not exist`);
  const { launch } = run;
  const goesOn = run.control === 'run' && isLive(run.phase);
  const found = await readStanding(tx, runId);
  if (found) return { goesOn, launch, ...found };
  await tx
    .insertInto('run_releases')
    .values({
      run_id: runId,
      workspace_id: workspaceId,
      stages: options.release ? stagesOf(options.release) : 1,
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return { goesOn, launch, ...((await readStanding(tx, runId)) as Stored) };
}

type Stored = Omit<ReleaseStanding, 'goesOn' | 'launch'>;

async function readStanding(tx: Transaction<CampaignTables>, runId: string): Promise<Stored | undefined> {
  const { rows } = await sql<Stored>`
    select r.stages, r.stage, r.contacts, r.released_to as "releasedTo", r.passed_to as "passedTo",
      r.closed_at as "closedAt", s.begun_at as "begunAt", s.opened_at as "openedAt", s.sent_at as "sentAt",
      s.next_at as "nextAt", clock_timestamp() as now
    from run_releases r left join run_stages s on s.run_id = r.run_id and s.stage = r.stage
    where r.run_id = ${runId} for update of r`.execute(tx);
  return rows[0];
}

/** SQL over a run's id: how many contacts the stages have that have begun. */
export const contactsBegun = (runId: string) => sql<number>`(
  select coalesce(sum(s.contacts), 0)::int from run_stages s join run_releases r on r.run_id = s.run_id
  where s.run_id = ${runId} and s.stage <= r.stage)`;
