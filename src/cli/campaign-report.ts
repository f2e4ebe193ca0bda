import { z } from 'zod';
import { CHANNELS, type Channel } from '../domain/channel';
import { RECIPIENT_STATES, type RecipientState, SETTLED } from '../domain/recipient';
import { reason } from './campaign-reason';

const perChannel = z.record(z.string(), z.record(z.string(), z.number()));

const judged = z.looseObject({
  stage: z.number(),
  metric: z.string(),
  value: z.number(),
  sample: z.number(),
  passed: z.boolean(),
});

/** What is read of `GET /api/campaign/{id}` (api.md 7); the rest is passed on where JSON is printed. */
export const campaignDetail = z.object({
  data: z.looseObject({
    phase: z.string(),
    counts: perChannel.default({}),
    skipped: perChannel.default({}),
    reason: reason.nullish(),
    release: z
      .looseObject({
        stage: z.number(),
        of: z.number(),
        next: z.string().nullish(),
        judged: z.array(judged).default([]),
      })
      .optional(),
    runId: z.string().nullish(),
    finishedAt: z.string().nullish(),
  }),
});
export type CampaignProgress = z.infer<typeof campaignDetail>['data'];

/** One line, of 80 columns as a rule: `running 12 s · email 120/214 · sms 90/180 · voice 10/60 (8 calling, 2 later)`. */
export function progressText({ phase, counts, release }: CampaignProgress, elapsedMs: number): string {
  const channels = CHANNELS.filter((channel) => counts[channel]).map((channel) =>
    channelText(channel, counts[channel] ?? {}),
  );
  const stage = release ? [`stage ${release.stage} of ${release.of}`] : [];
  return [`${phase} ${Math.round(elapsedMs / 1_000)} s`, ...stage, ...channels].join(' · ');
}

/** `Stage 1 of 2 was sent; its gate is open: failed 1.2 % of 84.` */
export function gateText(
  { stage, metric, value, sample, passed }: z.infer<typeof judged>,
  of: number,
): string {
  const share = `${Math.round(value * 1_000) / 10} % of ${sample}`;
  return `Stage ${stage} of ${of} was sent; its gate is ${passed ? 'open' : 'closed'}: ${metric} ${share}.`;
}

function channelText(channel: Channel, states: Record<string, number>): string {
  const of = (...names: RecipientState[]) => names.reduce((sum, name) => sum + (states[name] ?? 0), 0);
  // A message that was handed over is done; a call that was placed is not.
  const calling = channel === 'voice' ? of('sending', 'accepted', 'sent') : 0;
  const done = of(...SETTLED) - (channel === 'voice' ? of('sent') : 0);
  const notes = [calling > 0 && `${calling} calling`, of('waiting') > 0 && `${of('waiting')} later`].filter(
    Boolean,
  );
  return `${channel} ${done}/${states.total ?? 0}${notes.length > 0 ? ` (${notes.join(', ')})` : ''}`;
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

/** The members of `GET /api/campaign/{id}/calls` that are read. */
export const callSummary = z.object({
  data: z.looseObject({
    calls: z.number(),
    open: z.number(),
    carrierFaults: z.number(),
    outcomes: z.record(z.string(), z.number()),
  }),
});

/** How calls ended, most frequent first. */
export function callTable({
  calls,
  open,
  carrierFaults,
  outcomes,
}: z.infer<typeof callSummary>['data']): string {
  const ended = Object.entries(outcomes).sort(([, a], [, b]) => b - a);
  return [
    'Calls, by outcome',
    ...ended.map(([outcome, count]) => line(`  ${outcome.replaceAll('_', ' ')}`, [count])),
    ...(open > 0 ? [line('  not ended', [open])] : []),
    line('  calls', [calls]),
    ...(carrierFaults > 0
      ? [`${carrierFaults} of them could not be placed by their carrier, and count as none.`]
      : []),
    '',
  ].join('\n');
}

const LABEL_CHARS = 22;
const COLUMN_CHARS = 9;

function line(label: string, cells: readonly (Channel | number | string)[]): string {
  return label.padEnd(LABEL_CHARS) + cells.map((cell) => String(cell).padStart(COLUMN_CHARS)).join('');
}
