import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { RECIPIENT_STATES, SETTLED } from '../domain/recipient';

const perChannel = z.record(z.string(), z.record(z.string(), z.number()));

/** What the demo reads of `GET /api/campaign/{id}` (api.md 7). */
export const campaignDetail = z.object({
  data: z.object({
    phase: z.string(),
    counts: perChannel.default({}),
    skipped: perChannel.default({}),
    reason: z.string().nullish(),
  }),
});
export type CampaignProgress = z.infer<typeof campaignDetail>['data'];

/** One line: `running 12 s · email 120/214 · sms 90/180 · voice 10/60 (12 waiting)`. */
export function progressText({ phase, counts }: CampaignProgress, elapsedMs: number): string {
  const channels = CHANNELS.filter((channel) => counts[channel]).map((channel) => {
    const states = counts[channel] ?? {};
    const waiting = states.waiting ?? 0;
    return `${channel} ${settled(states)}/${states.total ?? 0}${waiting > 0 ? ` (${waiting} waiting)` : ''}`;
  });
  return [`Campaign ${phase}, ${Math.round(elapsedMs / 1_000)} s`, ...channels].join(' · ');
}

/** The outcome as a table: one row for each state that occurs, one column for each channel. */
export function summaryTable({ counts, skipped }: CampaignProgress): string {
  const channels = CHANNELS.filter((channel) => counts[channel]);
  const rowOf = (table: CampaignProgress['counts'], key: string): [string, ...number[]] => [
    key,
    ...channels.map((channel) => table[channel]?.[key] ?? 0),
  ];
  const occurs = ([, ...numbers]: [string, ...number[]]) => numbers.some((number) => number > 0);
  const states = RECIPIENT_STATES.map((state) => rowOf(counts, state)).filter(occurs);
  const reasons = [...new Set(channels.flatMap((channel) => Object.keys(skipped[channel] ?? {})))];
  const skips = reasons.map((reason) => rowOf(skipped, reason)).filter(occurs);
  return [
    line('', channels),
    ...states.map(([state, ...numbers]) => line(`  ${state}`, numbers)),
    line('  recipients', rowOf(counts, 'total').slice(1)),
    ...(skips.length > 0 ? ['Contacts that did not become recipients, by reason'] : []),
    ...skips.map(([reason, ...numbers]) => line(`  ${reason.replaceAll('_', ' ')}`, numbers)),
    '',
  ].join('\n');
}

const LABEL_CHARS = 22;
const COLUMN_CHARS = 9;

function line(label: string, cells: readonly (Channel | number | string)[]): string {
  return label.padEnd(LABEL_CHARS) + cells.map((cell) => String(cell).padStart(COLUMN_CHARS)).join('');
}

function settled(states: Record<string, number>): number {
  return SETTLED.reduce((sum, state) => sum + (states[state] ?? 0), 0);
}
