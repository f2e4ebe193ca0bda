/** Proves that every phase change of a campaign is recorded once, and reported with final counts. */

import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createPhaseChanges } from '../../../src/campaigns/reports/phase-changes';
import { closeRun } from '../../../src/campaigns/runs/run-end';
import { insertRun } from '../../../src/campaigns/runs/run-rows';
import { moveRun } from '../../../src/campaigns/runs/runs';
import { type Control, phaseOf, type RunPhase, type Stage } from '../../../src/domain/campaign';
import { newId } from '../../../src/storage/new-id';
import { describeWithDatabase } from '../../support/storage';

const STAGES: Stage[] = ['draft', 'scheduled', 'held', 'started', 'canceled'];
const RUN_PHASES: RunPhase[] = ['planning', 'running', 'finishing', 'completed', 'canceled', 'failed'];
const CONTROLS: Control[] = ['run', 'pause', 'cancel', 'fail'];

describeWithDatabase('phase changes of campaigns', (database) => {
  let db: Kysely<CampaignTables>;
  const workspaceId = newId('ws');

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  async function insertCampaign(stage: Stage): Promise<string> {
    const id = newId('cmp');
    await db
      .insertInto('campaigns')
      .values({
        id,
        workspace_id: workspaceId,
        name: 'Spring',
        channels: ['sms'],
        settings: '{}',
        contact_list_ids: [],
        options: '{}',
        stage,
      })
      .execute();
    return id;
  }

  const start = (id: string) =>
    db.transaction().execute((tx) => insertRun(tx, { id, workspaceId }, 'started'));
  const changesOf = async (id: string) =>
    (await createPhaseChanges({ db }).read(1_000)).filter(({ subjectId }) => subjectId === id);
  const typesOf = async (id: string) => (await changesOf(id)).map(({ type }) => type.slice(9));

  test('the phase in the triggers is that of the code, for every stage, run and control', async () => {
    const runs = [
      undefined,
      ...RUN_PHASES.flatMap((phase) => CONTROLS.map((control) => ({ phase, control }))),
    ];
    const cases = STAGES.flatMap((stage) => runs.map((run) => ({ stage, run })));
    const { rows } = await sql<{ phase: string }>`
      select campaign_phase(stage, phase, control) as phase
      from unnest(${cases.map(({ stage }) => stage)}::text[], ${cases.map(({ run }) => run?.phase ?? null)}::text[],
        ${cases.map(({ run }) => run?.control ?? null)}::text[]) with ordinality as t(stage, phase, control, at)
      order by at`.execute(db);
    expect(rows.map(({ phase }) => phase)).toEqual(cases.map(({ stage, run }) => phaseOf(stage, run)));
  });

  test('each phase that a campaign comes to is kept, in order and once', async () => {
    const id = await insertCampaign('draft');
    const runId = await start(id);
    await moveRun(db, runId, 'running');
    await moveRun(db, runId, 'running');
    await db.updateTable('runs').set({ control: 'pause' }).where('id', '=', runId).execute();
    await db.updateTable('runs').set({ control: 'run' }).where('id', '=', runId).execute();
    await moveRun(db, runId, 'finishing');
    await closeRun(db, runId, 'completed', undefined);
    expect(await typesOf(id)).toEqual([
      'draft',
      'planning',
      'running',
      'paused',
      'running',
      'finishing',
      'completed',
    ]);
  });

  test('a canceled campaign is reported when its run has closed, so that its counts are final', async () => {
    const id = await insertCampaign('draft');
    const runId = await start(id);
    await db.updateTable('runs').set({ control: 'pause' }).where('id', '=', runId).execute();
    await db.updateTable('runs').set({ control: 'cancel' }).where('id', '=', runId).execute();
    expect(await typesOf(id)).toEqual(['draft', 'planning', 'paused']);
    await closeRun(db, runId, 'canceled', undefined);
    expect(await typesOf(id)).toEqual(['draft', 'planning', 'paused', 'canceled']);
  });

  test('a canceled campaign whose run does not close is reported after a minute', async () => {
    const id = await insertCampaign('draft');
    const runId = await start(id);
    await db.updateTable('runs').set({ control: 'cancel' }).where('id', '=', runId).execute();
    expect(await typesOf(id)).toEqual(['draft', 'planning']);
    await sql`update campaign_phase_changes set at = at - interval '61 seconds' where campaign_id = ${id}`.execute(
      db,
    );
    expect(await typesOf(id)).toEqual(['draft', 'planning', 'canceled']);
  });

  test('a change that is taken back was never there', async () => {
    const id = await insertCampaign('draft');
    const attempt = db.transaction().execute(async (tx) => {
      await insertRun(tx, { id, workspaceId }, 'started');
      throw new Error('as if killed');
    });
    await expect(attempt).rejects.toThrow('as if killed');
    expect(await typesOf(id)).toEqual(['draft']);
  });

  test('a report has the campaign’s name, its phase then, and its counts now', async () => {
    const changes = createPhaseChanges({ db });
    const id = await insertCampaign('draft');
    await start(id);
    const [draft, planning] = await changesOf(id);
    const described = await changes.describe(await changesOf(id));
    expect(described.get(draft?.id ?? '')).toEqual({ id, name: 'Spring', phase: 'draft', counts: {} });
    expect(described.get(planning?.id ?? '')).toEqual({ id, name: 'Spring', phase: 'planning', counts: {} });

    await changes.done([draft?.id ?? '']);
    expect(await typesOf(id)).toEqual(['planning']);
  });
});
