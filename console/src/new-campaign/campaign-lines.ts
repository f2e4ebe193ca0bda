import type { CampaignDetail } from '../api/types.gen';
import { fill, plural } from '../format';
import { TEXTS } from '../texts';
import type { Body } from './draft';

const texts = TEXTS.newCampaign;

/** What a campaign is set to, a line for each setting, so that two states of it can be compared. */
export function linesOf({ phase, inline }: CampaignDetail, { campaignId: _, ...body }: Body): string {
  const lines = [
    fill(texts.meanwhile.phase, { phase: TEXTS.campaign.phases[phase] }),
    ...linesUnder('', body),
  ];
  return [...lines, ...(inline > 0 ? [plural(inline, texts.meanwhile.own)] : [])].join('\n');
}

function linesUnder(path: string, value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return [`${path}: ${value}`];
  return Object.entries(value).flatMap(([name, one]) =>
    linesUnder(path === '' ? name : `${path}.${name}`, one),
  );
}
