import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import {
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import type { Place } from '../support/fanfare-process';
import { type CampaignBench, recordOf, untilStill, withFanfare, withPlace } from './campaign-rig';
import { cpuMs, note, numberOption, rate, round2 } from './rig';

/**
 * What retention costs a campaign that sends beside it, as a ratio: the same campaign in a process that deletes nothing, in
 * one that deletes the recipients of an old run meanwhile, and again in one that deletes nothing. `--contacts N` of each,
 * `--old N` recipients to delete. Needs DATABASE_URL, since the old run is made by SQL.
 */
const CONTACTS_DEFAULT = 20_000;
const OLD_DEFAULT = 1_000_000;
const WARM_UP_CONTACTS = 2_000;
const LIMIT_MS = 10 * 60_000;
/** How often the campaign is asked for: rarely, since its end is in the record of the simulator. */
const LOOK_MS = 1_000;

export async function retentionPart(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  const old = numberOption('--old') ?? OLD_DEFAULT;
  return withPlace(async (place) => {
    if (!place.env.DATABASE_URL) throw new Error('Set DATABASE_URL for this part');
    place.env.FANFARE_RETENTION_DAYS = '1';
    const before = await withFanfare(place, (bench) => measure(bench, contacts));
    const run = await plantOldRun(place, before.campaign, old);
    const during = await withFanfare(place, (bench) => measure(bench, contacts, () => left(place, run)));
    await withFanfare(place, () => untilGone(place, run));
    const after = await withFanfare(place, (bench) => measure(bench, contacts));
    const alone = (before.perSecond + after.perSecond) / 2;
    return {
      contacts,
      old,
      alonePerSecond: [before, after].map(({ perSecond }) => Math.round(perSecond)),
      besidePerSecond: Math.round(during.perSecond),
      ratio: round2(during.perSecond / alone),
      cpuMicrosAlone: [before, after].map(({ cpuMicros }) => Math.round(cpuMicros)),
      cpuMicrosBeside: Math.round(during.cpuMicros),
      deletedMeanwhile: during.deleted,
      deletedPerSecond: Math.round(rate(during.deleted, during.ms)),
    };
  });
}

async function measure(
  { api, place, pid }: CampaignBench,
  contacts: number,
  leftOf: () => Promise<number> = async () => 0,
) {
  const template = await createSmsTemplate(api);
  const prefix = `w${Date.now()}`;
  const warmUp = await createList(api, WARM_UP_CONTACTS, prefix, 9_000_000);
  await untilPhase(api, await createSmsCampaign(api, warmUp, template), ['completed'], LIMIT_MS);
  const list = await createList(api, contacts, `c${prefix}`);
  const planted = await leftOf();
  for (let now = planted; planted > 0 && now === planted; now = await leftOf()) await delay(200);
  note(`${contacts} recipients${planted > 0 ? ` beside ${planted} old ones` : ''}`);
  const [leftBefore, cpuBefore] = [await leftOf(), cpuMs(pid).all];
  const taken = recordOf(place, 'sms').handOvers;
  const startedAt = Date.now();
  const campaign = await createSmsCampaign(api, list, template);
  await untilPhase(api, campaign, ['completed'], LIMIT_MS, LOOK_MS);
  // The simulator refuses a share of addresses.
  const { lastAt = '' } = await untilStill(place, 'sms', taken + Math.floor(contacts * 0.9));
  const ms = Date.parse(lastAt) - startedAt;
  const leftAfter = await leftOf();
  if (planted > 0 && leftAfter === 0) note('The old run was gone before the campaign: take a larger --old');
  return {
    ...{ campaign, ms, perSecond: rate(contacts, ms), deleted: leftBefore - leftAfter },
    cpuMicros: ((cpuMs(pid).all - cpuBefore) * 1_000) / contacts,
    phase: (await campaignDetail(api, campaign)).phase,
  };
}

/** The run of a campaign that has ended gets so many recipients more, and ended ten days ago. */
async function plantOldRun(place: Place, campaign: string, count: number): Promise<string> {
  note(`planting ${count} recipients of an old run`);
  const [run] = await query<{ id: string }>(
    place,
    `update runs set finished_at = now() - interval '10 days' where campaign_id = '${campaign}' returning id`,
  );
  if (!run) throw new Error('the campaign has no run');
  await query(
    place,
    `insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state)
     select '${run.id}', 'sms', 1000000 + n, 0, 'old_' || n, '+1303' || (2000000 + n), '{"NAME":"Ada"}', now(), 'delivered'
     from generate_series(1, ${count}) n`,
  );
  await query(place, 'analyze recipients');
  return run.id;
}

async function left(place: Place, run: string): Promise<number> {
  const [row] = await query<{ left: number }>(
    place,
    `select count(*)::int as left from recipients where run_id = '${run}'`,
  );
  return row?.left ?? 0;
}

async function untilGone(place: Place, run: string): Promise<void> {
  while ((await left(place, run)) > 0) await delay(LOOK_MS);
}

async function query<Row>(place: Place, statement: string): Promise<Row[]> {
  const client = new Client({ connectionString: place.env.DATABASE_URL });
  await client.connect();
  const { rows } = await client.query(statement);
  await client.end();
  return rows as Row[];
}
