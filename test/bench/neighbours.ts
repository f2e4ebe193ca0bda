import { inParallel } from '../../src/domain/in-parallel';
import { createList, createSmsCampaign, createSmsTemplate, untilPhase } from '../support/api-client';
import { until } from '../support/until';
import { type CampaignBench, recordOf, sizeOf, withCampaigns } from './campaign-rig';
import { controlFigure, firstFigure, idleFigure } from './neighbours-shared';
import { idleCost, median, note, numberOption, option } from './rig';

/**
 * What campaigns and workspaces do to each other on one installation (api.md 14). `--figures a,b` chooses:
 *
 *   waiting  `--waiting N` (1,000) campaigns that wait for an hour: a campaign of 100 beside them against alone, a pause,
 *            a durable send, and what the process costs while it is idle
 *   paced    eight campaigns of two messages a second: what each of them reached, and a campaign of 200 beside them
 *   control  `--contacts N` (150,000): pause, resume and cancel while that many are frozen, and another workspace's reads
 *   idle     `--workspaces N` (500) where nothing goes on
 *   first    `--contacts N`: from the request that creates a campaign to its first hand-over
 */
const FIGURES: Record<string, () => Promise<unknown>> = {
  waiting: waitingFigure,
  paced: pacedFigure,
  control: controlFigure,
  idle: idleFigure,
  first: firstFigure,
};

export async function neighboursPart(): Promise<unknown> {
  const result: Record<string, unknown> = {};
  for (const figure of option('--figures')?.split(',') ?? Object.keys(FIGURES)) {
    const measure = FIGURES[figure];
    if (!measure) throw new Error(`There is no figure ${figure}; there are ${Object.keys(FIGURES).join()}`);
    note(`neighbours, ${figure}`);
    result[figure] = await measure();
    // So that figures are not lost with a later one that is given up.
    note(JSON.stringify(result[figure]));
  }
  return result;
}

const LIMIT_MS = 30 * 60_000;
const ROUNDS = 3;
const HOURLY = { delivery: { ratePerSecond: 1 / 3_600 } };

async function waitingFigure(): Promise<unknown> {
  const waiting = numberOption('--waiting') ?? 1_000;
  return withCampaigns(async (bench) => {
    const { api, place } = bench;
    const templateId = await createSmsTemplate(api);
    const pair = await createList(api, 2, 'pair');
    const hundred = await createList(api, 100, 'hundred', 3_000_000);
    await campaignMs(bench, hundred, templateId);
    const aloneMs = await rounds(() => campaignMs(bench, hundred, templateId));
    const idleAlone = await idleCost(bench);
    const before = recordOf(place, 'sms').handOvers;
    const ids = new Array<string>(waiting);
    note(`${waiting} campaigns begin to wait`);
    const begunAt = performance.now();
    await inParallel([...ids.keys()], 8, async (i) => {
      ids[i] = await createSmsCampaign(api, pair, templateId, HOURLY);
    });
    await until(
      'the first of each',
      () => recordOf(place, 'sms').handOvers - before >= waiting,
      LIMIT_MS,
      500,
    );
    const begunMs = Math.round(performance.now() - begunAt);
    const besideMs = await rounds(() => campaignMs(bench, hundred, templateId));
    const pauseMs = await rounds((round) =>
      timed(() => api.expect('POST', `/api/campaign/${ids[round]}/pause`)),
    );
    const sendMs = await rounds((round) => sendToHandOverMs(bench, templateId, round));
    const idle = await idleCost(bench);
    return { waiting, begunMs, aloneMs, besideMs, pauseMs, sendMs, idleAlone, idle };
  });
}

/** From the request that creates it until it is completed. */
async function campaignMs({ api }: CampaignBench, listId: string, templateId: string): Promise<number> {
  return timed(async () => {
    const id = await createSmsCampaign(api, listId, templateId);
    await untilPhase(api, id, ['completed'], LIMIT_MS, 20);
  });
}

async function sendToHandOverMs(
  { api, place }: CampaignBench,
  templateId: string,
  round: number,
): Promise<number> {
  const size = sizeOf(place, 'sms');
  return timed(async () => {
    await api.expect('POST', '/api/send', {
      channel: 'sms',
      uid: `neighbour-${round}`,
      to: '+12125550190',
      from: '12345',
      'template-id': templateId,
      version: 1,
      params: { NAME: 'Ada' },
    });
    await until('the hand-over', () => sizeOf(place, 'sms') > size, LIMIT_MS, 5);
  });
}

const PACED = 8;
const PACED_SECONDS = 30;

async function pacedFigure(): Promise<unknown> {
  return withCampaigns(async (bench) => {
    const { api } = bench;
    const templateId = await createSmsTemplate(api);
    const quick = await createList(api, 200, 'quick');
    const many = await createList(api, 2_000, 'paced', 3_000_000);
    await campaignMs(bench, quick, templateId);
    const aloneMs = await rounds(() => campaignMs(bench, quick, templateId));
    const ids: string[] = [];
    for (let i = 0; i < PACED; i++) {
      ids.push(await createSmsCampaign(api, many, templateId, { delivery: { ratePerSecond: 2 } }));
    }
    const begunAt = Date.now();
    const besideMs = await rounds(() => campaignMs(bench, quick, templateId));
    await new Promise((done) => setTimeout(done, Math.max(0, begunAt + PACED_SECONDS * 1_000 - Date.now())));
    const seconds = (Date.now() - begunAt) / 1_000;
    const perSecond: number[] = [];
    for (const id of ids) {
      const { data } = await api.expect<{ data: { counts: { sms: Record<string, number> } } }>(
        'GET',
        `/api/campaign/${id}`,
      );
      const { total = 0, pending = 0, waiting = 0, sending = 0 } = data.counts.sms;
      perSecond.push(Math.round(((total - pending - waiting - sending) / seconds) * 10) / 10);
    }
    return { aloneMs, besideMs, wantedPerSecond: 2, perSecond };
  });
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const begunAt = performance.now();
  await work();
  return Math.round(performance.now() - begunAt);
}

async function rounds(
  measure: (round: number) => Promise<number>,
): Promise<{ median: number; rounds: number[] }> {
  const results: number[] = [];
  for (let round = 0; round < ROUNDS; round++) results.push(await measure(round));
  return { median: median(results), rounds: results };
}
