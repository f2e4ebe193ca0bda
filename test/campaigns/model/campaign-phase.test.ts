/** Proves that the phase of a campaign is the same in SQL and in code. */

import { type Kysely, sql } from 'kysely';
import { phaseExpression, statusExpression } from '../../../src/campaigns/model/campaign-record';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { type Control, phaseOf, type RunPhase, type Stage, statusOf } from '../../../src/domain/campaign';
import { describeWithDatabase } from '../../support/storage';

const STAGES: Stage[] = ['draft', 'scheduled', 'held', 'started', 'canceled'];
const RUN_PHASES: RunPhase[] = ['planning', 'running', 'finishing', 'completed', 'canceled', 'failed'];
const CONTROLS: Control[] = ['run', 'pause', 'cancel', 'fail'];

describeWithDatabase("a campaign's phase", (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test('is the same in SQL and in code, for every stage, run and control', async () => {
    const runs = [
      undefined,
      ...RUN_PHASES.flatMap((phase) => CONTROLS.map((control) => ({ phase, control }))),
    ];
    const cases = STAGES.flatMap((stage) => runs.map((run) => ({ stage, run })));
    const { rows } = await sql`
      with c as (
        select * from unnest(
          ${cases.map((_, i) => i)}::int[], ${cases.map(({ stage }) => stage)}::text[]) as t (position, stage)
      ), r as (
        select * from unnest(
          ${cases.map(({ run }, i) => (run ? i : null))}::int[],
          ${cases.map(({ run }) => run?.phase ?? null)}::text[],
          ${cases.map(({ run }) => run?.control ?? null)}::text[]) as t (id, phase, control)
      )
      select ${phaseExpression} as phase, ${statusExpression} as status
      from c left join r on r.id = c.position order by c.position`.execute(db);
    expect(rows).toEqual(
      cases.map(({ stage, run }) => {
        const phase = phaseOf(stage, run);
        return { phase, status: statusOf(phase) };
      }),
    );
  });
});
