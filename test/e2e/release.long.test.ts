import { Installation } from '../support/installation';
import { people, StagedCampaigns, type StagedDetail } from '../support/stages';
import { until } from '../support/until';

const LIMIT_MS = 120_000;
const good = () => 'delivered';
const isOver = ({ phase }: StagedDetail) => ['completed', 'canceled', 'failed'].includes(phase);

describe('campaigns that are released in stages, through the whole program', () => {
  let here: Installation;
  let staged: StagedCampaigns;

  beforeAll(async () => {
    here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
    staged = new StagedCampaigns(here);
  }, LIMIT_MS);
  afterAll(() => here?.remove());

  /** How long after the last message of a group the first of the next one left, where groups have these sizes. */
  async function gapsMs(id: string, sizes: number[]): Promise<number[]> {
    const taken = await staged.taken(id, 'email');
    expect(taken).toHaveLength(sizes.reduce((sum, size) => sum + size, 0));
    let end = 0;
    return sizes.slice(0, -1).map((size) => {
      end += size;
      return (taken[end]?.atMs ?? 0) - (taken[end - 1]?.atMs ?? 0);
    });
  }

  /** Why each of a campaign's recipients who wait does so, as support would read it out. */
  async function whyWaiting(id: string): Promise<{ why: string; at?: string; detail: string }[]> {
    const recipients = `/api/campaign/${id}/recipients`;
    const { data } = await here.api.expect<{ data: { id: string }[] }>('GET', `${recipients}?state=waiting`);
    return Promise.all(
      data.map(async (recipient) => {
        const { data: told } = await here.api.expect<{
          data: { next: { why: string; at?: string; detail: string } };
        }>('GET', `${recipients}/${recipient.id}`);
        return told.next;
      }),
    );
  }

  test(
    'stages have their sizes, wait their time, and the last one has the rest',
    async () => {
      const id = await staged.start(['email'], people(40, 'w', good), {
        release: {
          stages: [
            { recipients: 5, waitSeconds: 3 },
            { percent: 22.6, waitSeconds: 2 },
          ],
        },
      });
      const waiting = await staged.until(id, 'the wait', ({ release }) => release.next !== null);
      expect(waiting).toMatchObject({ phase: 'running', release: { stage: 1, of: 3, judged: [] } });
      expect(await staged.taken(id, 'email')).toHaveLength(5);
      const told = await whyWaiting(id);
      expect(told.map(({ why }) => why)).toEqual(Array(35).fill('stage'));
      // When the next stage begins is known, and when the one after it does is not.
      const { next } = waiting.release;
      expect(told.flatMap(({ at }) => at ?? [])).toEqual(Array(10).fill(next));
      const ended = await staged.until(id, 'the end', isOver);
      expect(ended).toMatchObject({ phase: 'completed', release: { stage: 3, next: null } });
      const [first = 0, second = 0] = await gapsMs(id, [5, 10, 25]);
      expect(first).toBeGreaterThanOrEqual(3_000);
      expect(first).toBeLessThan(8_000);
      expect(second).toBeGreaterThanOrEqual(2_000);
      expect(second).toBeLessThan(7_000);
    },
    LIMIT_MS,
  );

  test(
    'a stage without a wait goes on by hand, one at a time or all',
    async () => {
      const stages = [{ recipients: 3 }, { recipients: 4 }, { recipients: 5 }];
      const id = await staged.start(['email'], people(20, 'h', good), { release: { stages } });
      const taken = async () => (await staged.taken(id, 'email')).length;
      await staged.until(id, 'stage 1', ({ release }) => release.next === 'manual');
      expect(await taken()).toBe(3);
      expect((await staged.act(id, 'release')).status).toBe(200);
      await staged.until(id, 'stage 2', ({ release }) => release.stage === 2 && release.next === 'manual');
      expect(await taken()).toBe(7);
      expect((await staged.act(id, 'release', { stages: 'all' })).status).toBe(200);
      const ended = await staged.until(id, 'the end', isOver);
      expect(ended).toMatchObject({ phase: 'completed', release: { stage: 4, of: 4, next: null } });
      expect(await taken()).toBe(20);
      expect((await staged.act(id, 'release')).status).toBe(409);
    },
    LIMIT_MS,
  );

  test(
    'a closed gate pauses the run, resume goes past it, and the next stage is judged anew',
    async () => {
      const id = await staged.start(
        ['email'],
        people(60, 'g', (i) => (i % 2 ? 'bounce' : 'delivered')),
        {
          release: {
            stages: [
              { recipients: 20, waitSeconds: 2 },
              { recipients: 20, waitSeconds: 2 },
            ],
            // Half of all bounce, and a stage of twenty has 20 % at least: one in 10,000 draws has fewer.
            gates: [{ metric: 'undelivered', above: 0.15, minSample: 20 }],
          },
        },
      );
      const paused = await staged.until(id, 'the gate', ({ phase }) => phase === 'paused');
      expect(paused.reason).toMatchObject({ code: 'gate', metric: 'undelivered', above: 0.15 });
      const { value, sample } = paused.reason as { value: number; sample: number };
      expect(value).toBeGreaterThan(0.15);
      expect(sample).toBeLessThanOrEqual(20);
      expect(paused.release).toMatchObject({ stage: 1, next: null, judged: [{ stage: 1, passed: false }] });
      const refused = await staged.act(id, 'release');
      expect([refused.status, refused.body.code]).toEqual([409, 'illegal_transition']);
      expect((await staged.taken(id, 'email')).length).toBeLessThanOrEqual(20);
      for (const told of await whyWaiting(id)) {
        expect(told).toMatchObject({
          why: 'gate',
          detail: expect.stringMatching(/undelivered was [\d.]+ %, above 15 %/),
        });
      }
      expect((await staged.act(id, 'resume')).status).toBe(200);
      const again = await staged.until(
        id,
        'the second gate',
        ({ phase, release }) => phase === 'paused' && release.stage === 2,
      );
      // While the second stage was being sent nothing was judged: it was sent to its end.
      expect((await staged.taken(id, 'email')).length).toBe(40);
      expect(again.release.judged.map(({ stage, passed }) => [stage, passed])).toEqual([
        [1, false],
        [2, false],
      ]);
      expect((await staged.act(id, 'resume')).status).toBe(200);
      const ended = await staged.until(id, 'the end', isOver);
      expect(ended).toMatchObject({ phase: 'completed', reason: null });
      expect((await staged.taken(id, 'email')).length).toBe(60);
    },
    LIMIT_MS,
  );

  test(
    'a gate cancels where the campaign says so, and what was not begun is canceled',
    async () => {
      const id = await staged.start(
        ['email'],
        people(30, 'c', () => 'reject'),
        {
          release: {
            stages: [{ recipients: 10, waitSeconds: 60 }],
            gates: [{ metric: 'rejected', above: 0.5, minSample: 5 }],
            onGate: 'cancel',
          },
        },
      );
      const ended = await staged.until(id, 'the end', (one) => isOver(one) && one.finishedAt !== null);
      expect(ended).toMatchObject({ phase: 'canceled', reason: { code: 'gate', metric: 'rejected' } });
      const { rejected = 0, canceled = 0, total } = ended.counts.email ?? {};
      expect([total, rejected + canceled]).toEqual([30, 30]);
      expect(canceled).toBeGreaterThanOrEqual(20);
    },
    LIMIT_MS,
  );

  test(
    'a gate that cancels ends what sleeps until the hours of its recipients are open',
    async () => {
      const clock = (hours: number) => new Date(Date.now() + hours * 3_600_000).toISOString().slice(11, 16);
      const contacts = people(30, 'n', () => 'reject').map((one, i) => ({
        ...one,
        timezone: i < 5 ? 'Etc/UTC' : 'Asia/Tokyo',
      }));
      const id = await staged.start(['email'], contacts, {
        delivery: { quietHours: { from: clock(-2), to: clock(2), timezone: 'recipient' } },
        release: {
          stages: [{ percent: 100, waitSeconds: 60 }],
          gates: [{ metric: 'rejected', above: 0.5, minSample: 5 }],
          onGate: 'cancel',
        },
      });
      await staged.until(id, 'the gate', isOver);
      const ended = await staged.until(id, 'the end', (one) => one.finishedAt !== null, 30_000);
      expect(ended).toMatchObject({ phase: 'canceled', counts: { email: { waiting: 0, canceled: 5 } } });
    },
    LIMIT_MS,
  );

  test(
    'waits go on through a pause and through downtime, and no stage begins in a pause',
    async () => {
      const id = await staged.start(['email'], people(10, 'p', good), {
        release: { stages: [{ recipients: 4, waitSeconds: 8 }] },
      });
      const { release } = await staged.until(id, 'the wait', (one) => one.release.next !== null);
      const dueAt = Date.parse(release.next ?? '');
      expect((await staged.act(id, 'pause')).status).toBe(200);
      await here.fanfare.killGroup();
      await until('the end of the wait', () => Date.now() > dueAt + 1_000);
      await here.run();
      staged = new StagedCampaigns(here);
      expect((await staged.detail(id)).phase).toBe('paused');
      expect((await staged.taken(id, 'email')).length).toBe(4);
      expect((await staged.act(id, 'resume')).status).toBe(200);
      await staged.until(id, 'the end', isOver);
      expect(new Set((await staged.taken(id, 'email')).map(({ uid }) => uid)).size).toBe(10);
      expect(here.record('email').duplicateUids).toEqual([]);
    },
    LIMIT_MS,
  );

  test(
    'a contact’s channels go together',
    async () => {
      const contacts = people(12, 'm', good).map((one, i) => ({ ...one, phone: `+1202444${1000 + i}` }));
      const id = await staged.start(['email', 'sms'], contacts, { release: { stages: [{ recipients: 5 }] } });
      await staged.until(id, 'stage 1', ({ release }) => release.next === 'manual');
      const { data } = await here.api.expect<{
        data: { contactId: string; channel: string; state: string; code: string | null }[];
      }>('GET', `/api/campaign/${id}/recipients?limit=100`);
      const begun = (channel: string) =>
        data
          .filter((one) => one.channel === channel && one.code !== 'later_stage')
          .map(({ contactId }) => contactId)
          .sort();
      expect(begun('email')).toHaveLength(5);
      expect(begun('sms')).toEqual(begun('email'));
      expect((await staged.act(id, 'cancel')).status).toBe(200);
      const ended = await staged.until(id, 'the end', (one) => isOver(one) && one.finishedAt !== null);
      expect([ended.counts.email?.canceled, ended.counts.sms?.canceled]).toEqual([7, 7]);
      expect((await staged.taken(id, 'email')).length).toBe(5);
    },
    LIMIT_MS,
  );

  test(
    'calls hold their stage until they have ended, and a gate of theirs closes by their outcomes',
    async () => {
      const phones = Array.from({ length: 9 }, (_, i) => `+1${212 + i}5550194`);
      const contacts = phones.map((phone, i) => ({ externalId: `v${i}`, phone }));
      const id = await staged.start(['voice'], contacts, {
        release: {
          stages: [{ recipients: 4, waitSeconds: 1 }],
          gates: [{ metric: 'undelivered', above: 0.9, minSample: 4 }],
        },
      });
      const paused = await staged.until(id, 'the gate', ({ phase }) => phase === 'paused');
      expect(paused.reason).toMatchObject({ metric: 'undelivered', value: 1, sample: 4 });
      expect(paused.counts.voice).toMatchObject({ total: 9, undelivered: 4, waiting: 5 });
      expect((await staged.taken(id, 'voice')).length).toBe(4);
      expect((await staged.act(id, 'resume')).status).toBe(200);
      await staged.until(id, 'the end', isOver);
      expect(here.record('voice')).toMatchObject({ duplicateUids: [], distinct: 9 });
    },
    LIMIT_MS,
  );

  test(
    'each occurrence of a recurring campaign begins at stage one, in an order of its own',
    async () => {
      const id = await staged.start(['email'], people(12, 'o', good), {
        schedule: { cron: '0 4 1 1 *' },
        release: { stages: [{ recipients: 3 }] },
      });
      const firsts: string[][] = [];
      for (const occurrence of [1, 2]) {
        expect([occurrence, (await staged.act(id, 'start')).status]).toEqual([occurrence, 200]);
        await staged.until(id, 'stage 1', ({ release }) => release.next === 'manual');
        const taken = await staged.taken(id, 'email');
        expect([occurrence, taken.length]).toEqual([occurrence, 3]);
        firsts.push(taken.map(({ to }) => to).sort());
        expect((await staged.act(id, 'release')).status).toBe(200);
        await staged.until(id, 'its end', ({ finishedAt }) => finishedAt !== null);
        expect((await staged.taken(id, 'email')).length).toBe(12);
        expect((await staged.detail(id)).phase).toBe('scheduled');
      }
      expect(firsts[0]).not.toEqual(firsts[1]);
    },
    LIMIT_MS,
  );
});
