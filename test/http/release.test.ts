import { sql } from 'kysely';
import { stepRelease } from '../../src/campaigns/release/step-release';
import { loadRun } from '../../src/campaigns/runs/runs';
import { describeWithDatabase } from '../support/storage';
import { campaignsRig, IN_AN_HOUR } from './campaigns-rig';

const STAGES = [{ recipients: 1, waitSeconds: 60 }, { percent: 10 }];
const GATES = [{ metric: 'failed', above: 0.1, minSample: 10 }];

describeWithDatabase('release in stages over HTTP', (database) => {
  const { launched, create, db, newCampaign, detail, act, call, setRun, findings, ...rig } =
    campaignsRig(database);

  test.each([
    ['no stages', { stages: [] }, ['release.stages too_small']],
    ['a stage without a size', { stages: [{ waitSeconds: 1 }] }, ['release.stages.0 required']],
    ['both sizes', { stages: [{ recipients: 1, percent: 2 }] }, ['release.stages.0.percent not_applicable']],
    ['more than all', { stages: [{ percent: 60 }, { percent: 60 }] }, ['release.stages too_much']],
    [
      'numbers out of bounds, all at once',
      {
        stages: [{ recipients: 0 }, { percent: 101, waitSeconds: 2_592_001 }, { recipients: 1.5 }],
        gates: [
          { metric: 'opened', above: 1.1, minSample: 0 },
          { metric: 'failed', above: 0.1 },
        ],
        onGate: 'stop',
      },
      [
        'release.gates.0.above too_big',
        'release.gates.0.metric invalid_value',
        'release.gates.0.minSample too_small',
        'release.gates.1.minSample required',
        'release.onGate invalid_value',
        'release.stages too_much',
        'release.stages.0.recipients too_small',
        'release.stages.1.percent too_big',
        'release.stages.1.waitSeconds too_big',
        'release.stages.2.recipients not_multiple_of',
      ],
    ],
    [
      'unknown members',
      { stages: [{ recipients: 1, wait: 5 }], gate: [] },
      ['release.gate unknown_field', 'release.stages.0.wait unknown_field'],
    ],
  ])('%s is refused', async (_, release, expected) => {
    const answer = await create({ release });
    expect([answer.status, findings(answer).sort()]).toEqual([422, expected]);
  });

  test('a draft and a scheduled campaign show it and can be edited, a duplicate has it too', async () => {
    const id = await newCampaign({ start: false, release: { stages: STAGES, gates: GATES } });
    const fresh = { stage: 0, of: 3, next: null, judged: [] };
    expect((await detail(id)).release).toEqual({ stages: STAGES, gates: GATES, ...fresh });
    const schedule = { startAt: IN_AN_HOUR() };
    await create({ campaignId: id, schedule, release: { stages: [{ recipients: 7 }] }, start: true });
    expect((await detail(id)).release).toEqual({ stages: [{ recipients: 7 }], ...fresh, of: 2 });
    expect((await act(id, 'release')).body).toMatchObject({ status: 409, phase: 'scheduled' });
    const copy = (await act(id, 'duplicate')).body.data.id;
    expect((await detail(copy)).release.stages).toEqual([{ recipients: 7 }]);
    await create({ campaignId: id });
    expect(await detail(id)).not.toHaveProperty('release');
  });

  test('a campaign can be sent back as it was read, whose release says how far it is', async () => {
    const id = await newCampaign({ start: false, release: { stages: STAGES, gates: GATES } });
    const read = await detail(id);
    const edited = await call('POST', '/api/campaign', {
      ...{ ...read, campaignId: id, name: 'Renamed', start: false },
    });
    expect([edited.status, edited.body.errors]).toEqual([200, undefined]);
    expect(await detail(id)).toMatchObject({ name: 'Renamed', release: read.release });
  });

  test('a dry run counts the waits that have a length and contacts after them, with a pace and without', async () => {
    const people = Array.from({ length: 10 }, (_, i) => ({ email: `p${i}@example.com`, name: 'Ann' }));
    const contactListId = [await rig.newList(people)];
    const seconds = async (more: object) => {
      const body = rig.body({ contactListId, params: { CITY: 'Rome' }, ...more });
      return (await call('POST', '/api/campaign/dry-run', body)).body.data.durationSeconds;
    };
    const stages = [{ recipients: 2, waitSeconds: 600 }, { percent: 10 }, { recipients: 7, waitSeconds: 60 }];
    expect(await seconds({ release: { stages } })).toBe(600);
    expect(await seconds({ release: { stages }, delivery: { ratePerSecond: 2 } })).toBe(605);
    expect(await seconds({ release: { stages: [{ percent: 50 }] } })).toBeNull();
  });

  test('only what is released in stages, has begun and goes on can be let go', async () => {
    const plain = await newCampaign();
    const refused = await act(plain, 'release');
    expect([refused.status, refused.body.code]).toEqual([409, 'illegal_transition']);
    const id = await newCampaign({ start: false, release: { stages: STAGES } });
    expect((await act(id, 'release')).status).toBe(409);
    await act(id, 'start');
    for (const stages of [0, 1.5, 'none', -1])
      expect([stages, (await act(id, 'release', { stages })).status]).toEqual([stages, 422]);
    expect((await act(id, 'release', { stages: 1, all: true })).status).toBe(422);
    expect((await act(id, 'release', { stages: 1_000 })).status).toBe(200);
    await setRun(id, 'completed');
    expect((await act(id, 'release')).body).toMatchObject({ status: 409, phase: 'completed' });
    expect((await act('cmp_none', 'release')).status).toBe(404);
  });

  test('letting go while a stage is being sent leaves out the wait that comes, as often as it is asked for', async () => {
    const release = { stages: [{ percent: 40 }, { percent: 20 }] };
    const id = await newCampaign({ release });
    const runId = launched.at(-1)?.runId as string;
    expect((await act(id, 'release')).body.data).toMatchObject({
      id,
      release: { stage: 0, of: 3, next: null },
    });
    expect((await act(id, 'release', { stages: 1 })).status).toBe(200);
    await sql`
      insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq) values (${runId}, 'email', 0, 0, 0, 0)`.execute(
      db(),
    );
    await setRun(id, 'running');
    const step = async () => stepRelease(db(), await loadRun(db(), runId), { tellsMore: true, closed: [] });
    await step();
    // Its audience is empty: the first stage was sent at once, and the wait after it was left out.
    expect((await detail(id)).release).toMatchObject({ stage: 2, of: 3, next: 'manual' });
    expect((await act(id, 'pause')).status).toBe(200);
    expect((await act(id, 'release', { stages: 'all' })).status).toBe(200);
    await step();
    expect((await detail(id)).release).toMatchObject({ stage: 2 });
    await act(id, 'resume');
    await step();
    expect((await detail(id)).release).toMatchObject({ stage: 3, next: null });
  });

  test('a closed gate says so in the detail and the runs, refuses release, and is gone past by resume', async () => {
    const id = await newCampaign({ release: { stages: STAGES, gates: GATES } });
    await setRun(id, 'running');
    const runId = launched.at(-1)?.runId as string;
    const reason = { code: 'gate', metric: 'failed', value: 0.5, above: 0.1, sample: 10 };
    await sql`
      insert into run_releases (run_id, workspace_id, stages, stage, contacts, closed_at)
      select id, workspace_id, 3, 1, 30, now() from runs where id = ${runId}`.execute(db());
    await sql`
      update runs set control = 'pause', own_reason = ${JSON.stringify(reason)}::jsonb where id = ${runId}`.execute(
      db(),
    );
    expect(await detail(id)).toMatchObject({ phase: 'paused', status: 'paused', reason });
    const { body } = await call('GET', `/api/campaign/${id}/runs`);
    expect(body.data).toMatchObject([{ phase: 'paused', reason }]);
    expect((await act(id, 'release', { stages: 'all' })).body).toMatchObject({
      ...{ status: 409, code: 'illegal_transition', phase: 'paused' },
    });
    expect((await act(id, 'resume')).status).toBe(200);
    expect(await detail(id)).toMatchObject({ phase: 'running', reason: null });
    expect((await act(id, 'release')).status).toBe(200);
  });

  test('a gate that an occurrence closed pauses the occurrence, and resume lets it go on', async () => {
    const schedule = { cron: '0 4 1 1 *' };
    const id = await newCampaign({ schedule, release: { stages: STAGES, gates: GATES } });
    expect((await act(id, 'release')).body).toMatchObject({ status: 409, phase: 'scheduled' });
    await act(id, 'start');
    await setRun(id, 'running');
    const runId = (await detail(id)).runId as string;
    await sql`
      insert into run_releases (run_id, workspace_id, stages, stage, contacts, closed_at)
      select id, workspace_id, 3, 1, 30, now() from runs where id = ${runId}`.execute(db());
    await sql`
      update runs set control = 'pause', own_reason = '{"code": "gate"}' where id = ${runId}`.execute(db());
    expect(await detail(id)).toMatchObject({ phase: 'paused', reason: { code: 'gate' } });
    expect((await act(id, 'resume')).body.data.phase).toBe('scheduled');
    const { rows } = await sql`
      select r.control, l.closed_at, l.passed_to from runs r join run_releases l on l.run_id = r.id
      where r.id = ${runId}`.execute(db());
    expect(rows).toEqual([{ control: 'run', closed_at: null, passed_to: 1 }]);
  });
});
