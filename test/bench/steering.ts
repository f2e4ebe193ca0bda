import { join } from 'node:path';
import { readHandOvers } from '../../src/providers/simulator/simulator-record';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import type { Place } from '../support/fanfare-process';
import { type CampaignBench, recordOf, untilStill, withCampaigns } from './campaign-rig';
import { median, note, numberOption, option, round2 } from './rig';

const LIMIT_MS = 10 * 60_000;

/**
 * How long after the call that pauses a campaign at full rate the last message is handed over, by the
 * record's times. `--contacts N` (of which the runs must not come to the end), `--rounds N`.
 */
export async function pausePart(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? 30_000;
  const rounds = numberOption('--rounds') ?? 3;
  return withCampaigns(async (bench) => {
    const { api } = bench;
    const templateId = await createSmsTemplate(api);
    const listId = await createList(api, contacts);
    const results = [];
    for (let round = 0; round < rounds; round++) {
      note(`round ${round + 1} of ${rounds}: pausing in the middle of ${contacts}`);
      results.push(await pauseOnce(bench, listId, templateId, contacts));
    }
    return {
      contacts,
      lastHandOverMs: median(results.map(({ lastHandOverMs }) => lastHandOverMs)),
      rounds: results,
    };
  });
}

/** A share of the run by which it is at full rate, and far from its end. */
const UNDER_WAY = 0.3;

async function pauseOnce(
  { api, place }: CampaignBench,
  listId: string,
  templateId: string,
  contacts: number,
) {
  const before = recordOf(place, 'sms').handOvers;
  const startedAt = Date.now();
  const id = await createSmsCampaign(api, listId, templateId);
  while (recordOf(place, 'sms').handOvers - before < contacts * UNDER_WAY) {
    await new Promise((done) => setTimeout(done, 50));
  }
  const calledAt = Date.now();
  await api.expect('POST', `/api/campaign/${id}/pause`);
  const answeredMs = Date.now() - calledAt;
  const record = await untilStill(place, 'sms', 0);
  const taken = record.handOvers - before;
  const times = timesOf(place).slice(before);
  const late = times.filter((at) => at > calledAt).length;
  await api.expect('POST', `/api/campaign/${id}/resume`);
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  const { counts } = await campaignDetail(api, id);
  return {
    lastHandOverMs: Math.max(0, Date.parse(record.lastAt ?? '') - calledAt),
    answeredMs,
    ratePerSecond: Math.round(((taken - late) * 1_000) / (calledAt - startedAt)),
    handedOverAfterTheCall: late,
    handedOverBefore: taken - late,
    duplicates: recordOf(place, 'sms').duplicates.length,
    total: counts.sms?.total,
  };
}

/**
 * A campaign with a rate, and what the record says of thirty seconds of it. `--rates 50,500`,
 * `--seconds N`.
 */
export async function pacePart(): Promise<unknown> {
  const rates = (option('--rates') ?? '50,500').split(',').map(Number);
  const seconds = numberOption('--seconds') ?? 30;
  return withCampaigns(async (bench) => {
    const results = [];
    for (const ratePerSecond of rates) results.push(await paceOnce(bench, ratePerSecond, seconds));
    return results;
  });
}

/** The first seconds are let pass: what is measured is the rate, not the start. */
const SKIPPED_SECONDS = 2;

async function paceOnce({ api, place }: CampaignBench, ratePerSecond: number, seconds: number) {
  const contacts = Math.ceil(ratePerSecond * (seconds + 2 * SKIPPED_SECONDS));
  note(`${seconds} s at ${ratePerSecond} a second`);
  const templateId = await createSmsTemplate(api);
  const listId = await createList(api, contacts, `pace${ratePerSecond}-`);
  const before = timesOf(place).length;
  const id = await createSmsCampaign(api, listId, templateId, { delivery: { ratePerSecond } });
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  await untilStill(place, 'sms', 0);
  const times = timesOf(place).slice(before);
  const from = (times[0] ?? Number.NaN) + SKIPPED_SECONDS * 1_000;
  const window = times.filter((at) => at >= from && at < from + seconds * 1_000).length;
  // Some addresses the simulator refuses, which took a permit all the same.
  const share = times.length / contacts;
  const measured = window / share / seconds;
  return {
    ratePerSecond,
    seconds,
    contacts,
    measuredPerSecond: round2(measured),
    deviationPercent: round2((measured / ratePerSecond - 1) * 100),
  };
}

const timesOf = (place: Place): number[] =>
  [...readHandOvers(join(place.dataDir, 'simulator'), 'sms')].map(({ at }) => Date.parse(at));
