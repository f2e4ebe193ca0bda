import { Installation } from '../support/installation';
import { people, StagedCampaigns, type StagedDetail } from '../support/stages';
import { until } from '../support/until';

const LIMIT_MS = 240_000;
const PEOPLE = 3_000;
const WAIT_MS = 6_000;

/** Moments of a release, each of which a kill meets. */
const MOMENTS: [string, (staged: StagedCampaigns, id: string) => Promise<unknown>][] = [
  ['while the audience is being frozen', async () => undefined],
  [
    'as the first stage begins',
    (staged, id) => staged.until(id, 'stage 1', ({ release }) => release.stage === 1),
  ],
  ['in the first stage', (staged, id) => taken(staged, id, 100)],
  ['in the first wait', (staged, id) => staged.until(id, 'the wait', ({ release }) => release.next !== null)],
  ['in the second stage', (staged, id) => taken(staged, id, 700)],
  [
    'as the last stage begins',
    (staged, id) => staged.until(id, 'stage 3', ({ release }) => release.stage === 3),
  ],
  ['in the last stage', (staged, id) => taken(staged, id, 1_700)],
];

const taken = (staged: StagedCampaigns, id: string, least: number) =>
  until(`${least} messages`, async () => (await staged.taken(id, 'email')).length >= least, 120_000, 20);
const isOver = ({ phase }: StagedDetail) => ['completed', 'canceled', 'failed'].includes(phase);

test(
  'a release in stages that is killed in each of its phases hands no message over twice and no stage early',
  async () => {
    const here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '20' });
    try {
      const contacts = people(PEOPLE, 'k', () => 'delivered');
      const stages = [
        { recipients: 600, waitSeconds: WAIT_MS / 1_000 },
        { percent: 30, waitSeconds: WAIT_MS / 1_000 },
      ];
      const id = await new StagedCampaigns(here).start(['email'], contacts, {
        release: { stages, gates: [{ metric: 'failed', above: 0.5, minSample: 10 }] },
        delivery: { ratePerSecond: 400 },
      });
      for (const [moment, reached] of MOMENTS) {
        await reached(new StagedCampaigns(here), id);
        process.stdout.write(`killed ${moment}\n`);
        await here.fanfare.killGroup();
        await here.run();
      }
      const staged = new StagedCampaigns(here);
      const ended = await staged.until(id, 'the end', isOver, 120_000);
      expect(ended).toMatchObject({ phase: 'completed', release: { stage: 3, of: 3 } });
      expect(ended.release.judged.map(({ stage, passed }) => [stage, passed])).toEqual([
        [1, true],
        [2, true],
      ]);
      expect(here.record('email')).toMatchObject({ duplicates: [], duplicateUids: [], distinct: PEOPLE });
      // By the carrier's record: after 600 and after 1,500 messages it was left alone for as long as the waits are.
      const at = (await staged.taken(id, 'email')).map(({ atMs }) => atMs).sort((a, b) => a - b);
      for (const end of [600, 1_500]) {
        expect((at[end] ?? 0) - (at[end - 1] ?? 0)).toBeGreaterThanOrEqual(WAIT_MS);
      }
    } finally {
      await here.remove();
    }
  },
  LIMIT_MS,
);
