import { describeWithDatabase } from '../support/storage';
import { type Approvals, approvalRig } from './approval-rig';

describeWithDatabase('approval over HTTP', (database) => {
  const rig = approvalRig(database);
  let of: Approvals;
  beforeEach(async () => {
    of = await rig.open();
  });

  const codeOf = ({ status, body }: { status: number; body: { code?: string } }) => [status, body.code];

  test('a campaign above the number is a draft whatever start says, and one at the number starts', async () => {
    const large = await of.create(of.ann, { start: true });
    expect(large.body.data).toMatchObject({ phase: 'draft', status: 'paused' });
    expect(large.body.data.warnings).toContainEqual(
      expect.objectContaining({ path: 'start', code: 'approval_required', severity: 'warning' }),
    );
    const inline = [{ phone: '+12025550901' }, { phone: '+12025550902' }];
    const small = await of.create(of.ann, { contactListId: [], recipients: inline });
    expect(small.body.data.phase).toBe('planning');
    const both = await of.create(of.ann, { recipients: inline });
    expect(both.body.data.phase).toBe('draft');
    const tried = await of.client('POST', '/api/campaign/dry-run', {
      ...{ name: 'C', channel: ['sms'], contactListId: [of.list] },
      settings: (await of.detail(large.body.data.id)).settings,
    });
    expect(tried.body.data.warnings.map(({ code }: { code: string }) => code)).toContain('approval_required');
  });

  test('only campaigns with one of the named channels need an approval', async () => {
    await of.setPolicy({ approval: { above: 2, channels: ['email'] } });
    expect((await of.create(of.ann)).body.data.phase).toBe('planning');
  });

  test('the digest shows what would be sent, and is the same until something changes', async () => {
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await of.newCampaign(of.ann, { schedule: { startAt }, delivery: { ratePerSecond: 1 } });
    const { status, body } = await of.client('GET', `/api/campaign/${id}/digest`);
    expect([status, body.data]).toEqual([
      200,
      {
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        contacts: 3,
        recipients: 3,
        channels: { sms: expect.objectContaining({ contacts: 3, recipients: 3, segments: 3 }) },
        templates: [{ channel: 'sms', templateId: expect.any(String), version: 1, name: expect.any(String) }],
        schedule: { startAt },
        estimate: { durationSeconds: 3, warnings: expect.any(Array) },
      },
    ]);
    expect(await of.digestOf(id)).toBe(body.data.digest);
    const { templateId } = body.data.templates[0];
    await of.client('PUT', `/api/template/${templateId}`, { templateName: 'T', channel: 'sms', body: 'New' });
    expect(await of.digestOf(id)).toBe(body.data.digest);
    const changes = [
      { params: { A: 1 } },
      { params: { A: 2 } },
      { delivery: { ratePerSecond: 2 } },
      { release: { stages: [{ recipients: 1 }] } },
      { schedule: { startAt } },
      { recipients: [{ phone: '+12025550999' }] },
      { recipients: [{ phone: '+12025550999', params: { NAME: 'Other' } }] },
    ];
    const seen = new Set([body.data.digest]);
    for (const change of changes) {
      await of.create(of.ann, { campaignId: id, ...change });
      seen.add(await of.digestOf(id));
    }
    expect(seen.size).toBe(changes.length + 1);
  });

  test('another person approves it and it starts; the creator and clients may not', async () => {
    const id = await of.newCampaign(of.ann);
    const digest = await of.digestOf(id);
    for (const by of [of.ann, of.bob, of.client])
      for (const action of ['start', 'resume', 'release'])
        expect([action, ...codeOf(await of.act(by, id, action))]).toEqual([action, 409, 'approval_required']);
    expect(codeOf(await of.act(of.ann, id, 'approve', { digest }))).toEqual([403, 'own_campaign']);
    expect(codeOf(await of.act(of.client, id, 'approve', { digest }))).toEqual([403, 'user_required']);
    const forBob = of.clientFor(of.bob.id);
    expect(codeOf(await of.act(forBob, id, 'approve', { digest }))).toEqual([403, 'user_required']);
    expect((await of.act(of.bob, id, 'approve', {})).status).toBe(422);
    expect((await of.act(of.bob, id, 'approve', { digest, now: true })).status).toBe(422);
    expect((await of.act(of.bob, 'cmp_none', 'approve', { digest })).status).toBe(404);
    expect((await of.detail(id)).approval).toBeNull();
    for (let i = 0; i < 2; i++) {
      const approved = await of.act(of.bob, id, 'approve', { digest });
      expect([approved.status, approved.body.data]).toMatchObject([200, { id, phase: 'planning' }]);
    }
    expect(await of.detail(id)).toMatchObject({
      phase: 'planning',
      approval: { by: of.bob.id, at: expect.any(String), contacts: 3 },
    });
    expect((await of.client('GET', `/api/campaign/${id}/runs`)).body.data).toHaveLength(1);
  });

  test('what a client made for a user, that user does not approve', async () => {
    const id = await of.newCampaign(of.clientFor(of.bob.id));
    const digest = await of.digestOf(id);
    expect(codeOf(await of.act(of.bob, id, 'approve', { digest }))).toEqual([403, 'own_campaign']);
    expect((await of.act(of.ann, id, 'approve', { digest })).status).toBe(200);
  });

  test('a digest is of no use once the campaign was changed', async () => {
    const id = await of.newCampaign(of.ann);
    const digest = await of.digestOf(id);
    await of.create(of.ann, { campaignId: id, params: { A: 1 } });
    expect(codeOf(await of.act(of.bob, id, 'approve', { digest }))).toEqual([409, 'digest_changed']);
    expect(codeOf(await of.act(of.bob, id, 'approve', { digest: 'f'.repeat(64) }))).toEqual([
      409,
      'digest_changed',
    ]);
    expect((await of.detail(id)).phase).toBe('draft');
  });

  test('one member of a hundred may come or go, and not two', async () => {
    await of.add(97);
    const approved = async (change: () => Promise<unknown>) => {
      const id = await of.newCampaign(of.ann);
      const digest = await of.digestOf(id);
      await change();
      return codeOf(await of.act(of.bob, id, 'approve', { digest }));
    };
    const members = async () =>
      (await of.client('GET', `/api/contact-list/${of.list}/contacts?limit=100`)).body.data as {
        id: string;
      }[];
    const remove = async () => {
      const [first] = await members();
      await of.client('DELETE', `/api/contact-list/${of.list}/contacts/${first?.id}`);
    };
    expect(await approved(() => of.add(1))).toEqual([200, undefined]);
    expect(await approved(remove)).toEqual([200, undefined]);
    expect(await approved(() => of.add(2))).toEqual([409, 'digest_changed']);
    // As many as before, and yet not the same.
    const swap = async () => {
      await remove();
      await of.add(1);
    };
    expect(await approved(swap)).toEqual([409, 'digest_changed']);
  });

  test('what may not be started may not be edited into starting, and an edit ends an approval', async () => {
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await of.newCampaign(of.ann, { schedule: { startAt } });
    const edited = await of.create(of.ann, { campaignId: id, schedule: { startAt }, start: true });
    expect(edited.body.data.phase).toBe('draft');
    const digest = await of.digestOf(id);
    await of.act(of.bob, id, 'approve', { digest });
    expect((await of.detail(id)).phase).toBe('scheduled');
    await of.create(of.ann, { campaignId: id, schedule: { startAt }, params: { A: 1 } });
    expect(await of.detail(id)).toMatchObject({ phase: 'draft', approval: null });
    expect(codeOf(await of.act(of.ann, id, 'start'))).toEqual([409, 'approval_required']);
  });

  test('recipients that are appended end an approval, and the same ones again do not', async () => {
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const recipients = [{ phone: '+12025550901', params: { CODE: 'a' } }];
    const id = await of.newCampaign(of.ann, { schedule: { startAt }, recipients });
    const approve = async () => of.act(of.bob, id, 'approve', { digest: await of.digestOf(id) });
    const append = (params: object) =>
      of.act(of.ann, id, 'recipients', { recipients: [{ phone: '+12025550901', params }] });
    await approve();
    const { approval } = await of.detail(id);
    expect(approval).toMatchObject({ by: of.bob.id, contacts: 4 });
    await append({ CODE: 'a' });
    expect((await of.detail(id)).approval).toEqual(approval);
    // As many as before, and one of them would get another text than was approved.
    await append({ CODE: 'b' });
    expect(await of.detail(id)).toMatchObject({ phase: 'scheduled', approval: null });
    expect(codeOf(await of.act(of.ann, id, 'start'))).toEqual([409, 'approval_required']);
    await approve();
    await of.act(of.ann, id, 'recipients', { recipients: [{ phone: '+12025550902' }] });
    expect((await of.detail(id)).approval).toBeNull();
  });

  test('a scheduled campaign is started by hand only within what was allowed', async () => {
    const startAt = new Date(Date.now() + 3_600_000).toISOString();
    const id = await of.newCampaign(of.ann, { schedule: { startAt } });
    await of.act(of.bob, id, 'approve', { digest: await of.digestOf(id) });
    await of.add(1);
    expect(codeOf(await of.act(of.ann, id, 'start'))).toEqual([409, 'approval_required']);
    await of.act(of.bob, id, 'approve', { digest: await of.digestOf(id) });
    expect((await of.act(of.ann, id, 'start')).body.data.phase).toBe('planning');
  });

  test('a campaign that has ended is not approved', async () => {
    const id = await of.newCampaign(of.ann);
    const digest = await of.digestOf(id);
    await of.act(of.ann, id, 'cancel');
    expect(await of.act(of.bob, id, 'approve', { digest })).toMatchObject({
      status: 409,
      body: { code: 'illegal_transition', phase: 'canceled' },
    });
  });

  test('the policy takes only what it knows', async () => {
    for (const approval of [
      {},
      { above: -1 },
      { above: 1.5 },
      { above: 1, channels: [] },
      { above: 1, by: 'x' },
    ])
      expect([approval, (await of.setPolicy({ approval })).status]).toEqual([approval, 422]);
    const set = await of.setPolicy({ approval: { above: 0, channels: ['sms'] } });
    expect(set.body.data.approval).toEqual({ above: 0, channels: ['sms'] });
    expect((await of.setPolicy({})).body.data.approval).toBeNull();
  });
});
