import { CHANNELS, type Channel } from './channel';
import type { RecipientState } from './recipient';

/**
 * Release in stages (docs/campaigns.md): first a part of the audience, then, after a wait, the next part, as
 * long as not too many messages fail. After the listed stages comes one more, which has the rest of the
 * audience and no gates.
 */
export interface ReleaseOptions {
  stages: readonly StageOptions[];
  gates?: readonly Gate[] | undefined;
  onGate?: 'pause' | 'cancel' | undefined;
}

/** A stage's size is one of the first two. Without `waitSeconds`, the next stage waits for the operator. */
export interface StageOptions {
  recipients?: number | undefined;
  percent?: number | undefined;
  waitSeconds?: number | undefined;
}

export const GATE_METRICS = ['failed', 'undelivered', 'rejected', 'unknown', 'suppressed'] as const;
export type GateMetric = (typeof GATE_METRICS)[number];

export interface Gate {
  metric: GateMetric;
  above: number;
  minSample: number;
}

/** A gate after a stage, or a gate that closed while the stage was being sent. */
export interface Judged {
  stage: number;
  at: string;
  metric: GateMetric;
  value: number;
  sample: number;
  passed: boolean;
}

/** Why a run paused or canceled itself, as the API shows it. */
export interface GateReason {
  code: 'gate';
  metric: GateMetric;
  value: number;
  above: number;
  sample: number;
}

/** Code of a recipient whose stage has not begun. */
export const LATER_STAGE = 'later_stage';

/** How many stages a run has, including the last one. */
export const stagesOf = (release: Pick<ReleaseOptions, 'stages'>): number => release.stages.length + 1;

/** How many contacts each stage has, including the last one. A stage beyond the end of the audience is empty. */
export function stageSizes({ stages }: Pick<ReleaseOptions, 'stages'>, contacts: number): number[] {
  const sizes: number[] = [];
  let left = contacts;
  for (const stage of stages) {
    const size = Math.min(left, wantedSize(stage, contacts));
    sizes.push(size);
    left -= size;
  }
  return [...sizes, left];
}

/**
 * How long a release waits between stages that have contacts after them; a wait that the operator ends is not known, and
 * not in it.
 */
export function waitsSeconds(release: Pick<ReleaseOptions, 'stages'>, contacts: number): number {
  const sizes = stageSizes(release, contacts);
  return release.stages.reduce((sum, { waitSeconds = 0 }, i) => {
    const follow = sizes.slice(i + 1).some((size) => size > 0);
    return follow ? sum + waitSeconds : sum;
  }, 0);
}

function wantedSize({ recipients, percent = 0 }: StageOptions, contacts: number): number {
  // 7 % of 100 is 7.000000000000001 in binary, and must not become 8.
  return recipients ?? Math.max(0, Math.ceil((percent * contacts) / 100 - 1e-9));
}

/** What gates count: sums over a run's channels. */
export interface GateTally {
  counts: Record<GateMetric, number>;
  handedOver: number;
  /** Contacts of the stages that have begun. */
  contacts: number;
}

/** `tried` are recipients who were handed over once and wait for another attempt. */
export function gateTally(
  counts: Partial<Record<Channel, Record<RecipientState, number>>>,
  { contacts, tried, tellsMore }: { contacts: number; tried: number; tellsMore: boolean },
): GateTally {
  const sums: Record<GateMetric, number> = {
    failed: 0,
    undelivered: 0,
    rejected: 0,
    unknown: 0,
    suppressed: 0,
  };
  let handedOver = tried;
  for (const channel of CHANNELS) {
    const of = counts[channel];
    if (!of) continue;
    for (const metric of GATE_METRICS) sums[metric] += of[metric];
    handedOver += of.sent + of.delivered + of.undelivered + of.failed + of.rejected + of.unknown;
    // A call that is being made counts as handed over. At a service that reports nothing more, an accepted
    // message does too.
    if (channel === 'voice') handedOver += of.sending;
    if (!tellsMore) handedOver += of.accepted;
  }
  return { counts: sums, handedOver, contacts };
}

export type GateResult = Pick<Judged, 'metric' | 'value' | 'sample' | 'passed'>;

/** Judges a gate after a stage's wait. A gate with too small a sample lets the stage pass. */
export function judgeGate({ metric, above, minSample }: Gate, tally: GateTally): GateResult {
  const sample = metric === 'suppressed' ? tally.contacts : tally.handedOver;
  const value = sample === 0 ? 0 : tally.counts[metric] / sample;
  return { metric, value, sample, passed: sample < minSample || value <= above };
}

/**
 * Judges a gate while a stage is being sent. It closes when the count is above the gate's share of all contacts
 * of the stages begun, because a larger sample cannot open it again. If those contacts are too small a sample,
 * the gate stays open.
 */
export function closesAtOnce({ metric, above, minSample }: Gate, { counts, contacts }: GateTally): boolean {
  return contacts >= minSample && contacts > 0 && counts[metric] / contacts > above;
}

/**
 * Whether the gates are evaluated. After the operator has resumed a run at a closed gate of stage `passedTo`,
 * none is evaluated before the next stage's end: neither at the end of that stage, nor while the next one is
 * sent.
 */
export function isJudgedAtEnd({ stage, stages, passedTo }: StageOfRun): boolean {
  return stage < stages && stage > passedTo;
}

export function isJudgedWhileSent({ stage, stages, passedTo }: StageOfRun): boolean {
  return stage < stages && (passedTo === 0 || stage > passedTo + 1);
}

interface StageOfRun {
  stage: number;
  stages: number;
  passedTo: number;
}
