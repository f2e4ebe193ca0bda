import { type Kysely, sql } from 'kysely';
import { stageSizes, stagesOf } from '../../domain/release';
import type { CampaignTables } from '../model/tables';
import type { RunPlan } from '../runs/runs';
import { drawOf, FIRST_PLACE, LAST_PLACE, lockRelease } from './release-rows';

/**
 * Draws which contact is in which stage, once the whole audience is frozen. A contact's place follows from the run and the
 * contact alone, so that only the places between two stages are stored: a million recipients cost one read and no write,
 * and an attempt that repeats it comes to the same.
 */
export async function drawStages(db: Kysely<CampaignTables>, run: RunPlan): Promise<void> {
  const { runId, options } = run;
  if (!options.release) return;
  const { release } = options;
  const { rows } = await sql<{ contacts: number }>`
    select count(distinct contact_id)::int as contacts from recipients where run_id = ${runId}`.execute(db);
  const contacts = rows[0]?.contacts ?? 0;
  const sizes = stageSizes(release, contacts);
  const places = await placesBetween(db, runId, sizes);
  await db.transaction().execute(async (tx) => {
    const standing = await lockRelease(tx, run);
    if (standing.contacts !== null) return;
    await tx
      .insertInto('run_stages')
      .values(
        sizes.map((size, i) => ({
          run_id: runId,
          stage: i + 1,
          contacts: size,
          upto: places[i] ?? LAST_PLACE,
        })),
      )
      .execute();
    await tx
      .updateTable('run_releases')
      .set({ contacts, stages: stagesOf(release) })
      .where('run_id', '=', runId)
      .execute();
  });
}

/** The place of each stage's last contact, but of the last stage's. */
async function placesBetween(
  db: Kysely<CampaignTables>,
  runId: string,
  sizes: readonly number[],
): Promise<string[]> {
  const ends: number[] = [];
  for (const size of sizes.slice(0, -1)) ends.push((ends.at(-1) ?? 0) + size);
  const { rows } = await sql<{ number: number; place: string }>`
    select number, place from (
      select row_number() over (order by place)::int as number, place from (
        select ${drawOf(runId, sql`contact_id`)} as place
        from (select distinct contact_id from recipients where run_id = ${runId}) contact
      ) drawn
    ) ranked where number = any(${ends}::int[])`.execute(db);
  const byNumber = new Map(rows.map(({ number, place }) => [number, place]));
  return ends.map((end) => byNumber.get(end) ?? FIRST_PLACE);
}
