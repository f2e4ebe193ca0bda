import { readFileSync } from 'node:fs';
import { untilPhase } from '../support/api-client';
import {
  type CampaignBench,
  createEmailCampaign,
  createEmailTemplate,
  importContacts,
  untilStill,
  withCampaigns,
} from './campaign-rig';
import { note, numberOption, option, peakMemoryMb } from './rig';

/**
 * Peak memory of the process with everything in it, for campaigns of two sizes, each in a process of its own
 * from its start to the campaign's end: `--sizes 10000,200000`. `--warm N` recipients go first, so that what
 * a process takes once, whatever it does, is in both.
 */
const SIZES_DEFAULT = '10000,200000';
const LIMIT_MS = 60 * 60_000;

export async function memoryPart(): Promise<unknown> {
  const sizes = (option('--sizes') ?? SIZES_DEFAULT).split(',').map(Number);
  const warm = numberOption('--warm') ?? 0;
  const results = [];
  for (const contacts of sizes) {
    note(`a campaign of ${contacts}`);
    results.push(await withCampaigns((bench) => measure(bench, contacts, warm)));
  }
  const peaks = results.map(({ peakMb }) => peakMb);
  return { growthMb: Math.max(...peaks) - Math.min(...peaks), sizes: results };
}

async function measure(bench: CampaignBench, contacts: number, warm: number) {
  const { api, pid, place } = bench;
  const templateId = await createEmailTemplate(api);
  if (warm > 0) {
    const { listId } = await importContacts(bench, warm);
    await untilPhase(api, await createEmailCampaign(api, listId, templateId), ['completed'], LIMIT_MS);
  }
  const startMb = residentMb(pid);
  const { listId } = await importContacts(bench, contacts);
  const importedMb = peakMemoryMb(pid);
  const id = await createEmailCampaign(api, listId, templateId);
  await untilPhase(api, id, ['running', 'finishing', 'completed'], LIMIT_MS);
  const frozenMb = peakMemoryMb(pid);
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  await untilStill(place, 'email', Math.floor(contacts * 0.9));
  return {
    contacts,
    startMb,
    peakAfterMb: { import: importedMb, freeze: frozenMb },
    peakMb: peakMemoryMb(pid),
  };
}

/** What a process holds at the moment. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024);
}
