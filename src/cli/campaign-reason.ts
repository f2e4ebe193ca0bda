import { z } from 'zod';
import { printable } from './command';

/** Why a campaign ended or is paused: a sentence, or what closed a gate of its release (docs/campaigns.md). */
export const reason = z.union([
  z.string(),
  z.looseObject({
    code: z.string(),
    metric: z.string().optional(),
    value: z.number().optional(),
    above: z.number().optional(),
    sample: z.number().optional(),
  }),
]);

export function reasonText(given: z.infer<typeof reason>): string {
  if (typeof given === 'string') return printable(given);
  const { code, metric, value, above, sample } = given;
  if (metric === undefined || value === undefined || above === undefined) return printable(code);
  const percent = (share: number) => `${Math.round(share * 1_000) / 10} %`;
  return `${printable(code)}: ${printable(metric)} ${percent(value)} of ${sample ?? 0}, more than ${percent(above)}`;
}
