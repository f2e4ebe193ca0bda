/** Proves that name, tags and archive of a campaign may be changed in any phase, and that lists follow. */

import { describeWithDatabase } from '../support/storage';
import { campaignsRig } from './campaigns-rig';

describeWithDatabase('what may change of a campaign', (database) => {
  const { newCampaign, detail, act, call, setRun, findings, create } = campaignsRig(database);
  const patch = (id: string, change: unknown) => call('PATCH', `/api/campaign/${id}`, change);
  const listed = async (query: string) =>
    (await call('GET', `/api/campaign?page=1&limit=100&channel=email&${query}`)).body.data.map(
      ({ id }: { id: string }) => id,
    );

  test('name and tags change in any phase; details and lists show them', async () => {
    const id = await newCampaign();
    for (const phase of ['planning', 'running', 'completed', 'failed']) {
      await setRun(id, phase);
      const tags = [phase, 'spring'];
      const changed = await patch(id, { name: `Now ${phase}`, tags: [...tags, ` ${phase} `] });
      expect([changed.status, changed.body.data]).toMatchObject([200, { name: `Now ${phase}`, tags, phase }]);
      expect(await detail(id)).toMatchObject({ name: `Now ${phase}`, tags, archived: false });
    }
    expect(await listed('tag=spring')).toEqual([id]);
    expect(await listed('tag=failed')).toEqual([id]);
    expect(await listed('tag=spr')).toEqual([]);
    await patch(id, { tags: [] });
    expect((await detail(id)).tags).toEqual([]);
  });

  test('a campaign that is not live is put away and brought back; a live one is not', async () => {
    const id = await newCampaign();
    for (const phase of ['planning', 'running', 'finishing']) {
      await setRun(id, phase);
      const refused = await patch(id, { archived: true, name: 'Not this one either' });
      expect([refused.status, refused.body.code, refused.body.phase]).toEqual([
        409,
        'illegal_transition',
        phase,
      ]);
    }
    expect((await detail(id)).name).toBe('Spring');
    await setRun(id, 'completed');
    expect((await patch(id, { archived: true })).body.data).toMatchObject({ archived: true });
    expect(await listed('archived=true')).toEqual([id]);
    expect(await listed('')).not.toContain(id);
    expect(await listed('archived=false')).not.toContain(id);
    await patch(id, { archived: false });
    expect(await listed('archived=true')).toEqual([]);
    expect(await listed('')).toContain(id);
  });

  test('a draft that was put away is in the lists again once it starts', async () => {
    const id = await newCampaign({ start: false });
    await patch(id, { archived: true });
    expect((await act(id, 'start')).status).toBe(200);
    expect(await detail(id)).toMatchObject({ archived: false, phase: 'planning' });
    const edited = await newCampaign({ start: false });
    await patch(edited, { archived: true, tags: ['kept'] });
    await create({ campaignId: edited, start: true });
    expect(await detail(edited)).toMatchObject({ archived: false, tags: ['kept'] });
  });

  test('an ended campaign takes no other delivery, and then nothing of the change', async () => {
    const id = await newCampaign();
    await setRun(id, 'completed');
    const refused = await patch(id, { name: 'Other', delivery: { ratePerSecond: 5 } });
    expect([refused.status, (await detail(id)).name]).toEqual([409, 'Spring']);
  });

  test('what is no change, or too much of one, is refused', async () => {
    const id = await newCampaign({ start: false });
    const many = Array.from({ length: 21 }, (_, i) => `t${i}`);
    expect(findings(await patch(id, { tags: many, name: '' }))).toEqual(['name too_small', 'tags too_big']);
    expect(findings(await patch(id, { tags: ['x'.repeat(41), ''] }))).toEqual([
      'tags.0 too_big',
      'tags.1 too_small',
    ]);
    expect(findings(await patch(id, { archived: 'yes', color: 'red' }))).toEqual([
      'archived invalid_type',
      'color unknown_field',
    ]);
    expect(findings(await patch(id, {}))).toEqual([' empty']);
    expect((await call('PATCH', `/api/campaign/${id}`, { name: 'x' }, { as: 'ws_b' })).status).toBe(404);
  });

  test('refusals are repeated only by their codes', async () => {
    const id = await newCampaign();
    await setRun(id, 'completed');
    expect(findings(await act(id, 'retry-failed', { states: ['rejected'] }))).toEqual(['codes required']);
    const answer = await act(id, 'retry-failed', { states: ['rejected'], codes: ['no_credit'] });
    expect([answer.status, answer.body.data]).toMatchObject([200, { count: 0, retried: { email: 0 } }]);
  });
});
