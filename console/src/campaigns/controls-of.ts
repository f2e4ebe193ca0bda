import type { ButtonKind } from '../design/button';
import { fill, formatNumber } from '../format';
import { holdsOther } from '../new-campaign/use-draft';
import type { Role } from '../shell/navigation';
import { TEXTS } from '../texts';
import type { Detail } from './campaign-queries';
import { isEditable, isOver } from './campaign-words';
import type { Act } from './use-act';

const texts = TEXTS.campaign.control;

export interface Control {
  /** The lowest role that may. */
  from: Role;
  label: string;
  means: string;
  kind?: ButtonKind;
  /** Stands at the head of all parts of the campaign, because it is needed in a hurry. */
  atHead?: boolean;
  press(): void;
}

/** Each is a dialog. */
export type Question = 'cancel' | 'pace' | 'retry' | 'approve';

export interface Presses {
  /** Where the workspace's rule asks for approval: above how many recipients. */
  above: number | undefined;
  act(act: Act): void;
  open(question: Question): void;
  edit(): void;
}

/** What can be done with a campaign now, what is needed most first. */
export function controlsOf(campaign: Detail, { above, act, open, edit }: Presses): Control[] {
  const { phase } = campaign;
  const needsApproval = isHeldForApproval(campaign);
  const isHeldByGate = typeof campaign.reason === 'object' && campaign.reason?.code === 'gate';
  return [
    ...when(needsApproval, {
      from: 'sender',
      label: texts.approve,
      means: texts.approveMeans,
      press: () => open('approve'),
    }),
    ...when(above !== undefined, {
      ...{ from: 'sender', label: texts.approve, press: () => open('approve') },
      means: fill(texts.approveAbove, { n: formatNumber(above ?? 0) }),
    }),
    ...when(!needsApproval && above === undefined && phase === 'draft', {
      ...{ from: 'sender', label: texts.start, means: startMeans(campaign), kind: 'primary' },
      press: () => act('start'),
    }),
    ...when(phase === 'scheduled', {
      ...{ from: 'sender', label: texts.start, means: texts.startEarly, press: () => act('start') },
    }),
    ...when(['scheduled', 'planning', 'running', 'finishing'].includes(phase), {
      ...{ from: 'editor', label: texts.pause, means: texts.pauseMeans, atHead: true },
      press: () => act('pause'),
    }),
    ...when(!needsApproval && (phase === 'paused' || phase === 'failed'), {
      from: 'sender',
      label: texts.resume,
      means: isHeldByGate ? texts.resumeGate : texts.resumeMeans,
      ...{ kind: 'primary', atHead: true },
      press: () => act('resume'),
    }),
    ...when(campaign.release?.next === 'manual', {
      from: 'sender',
      label: texts.release,
      means: TEXTS.campaign.stages.manual,
      kind: 'primary',
      press: () => act('release'),
    }),
    ...when(!isOver(phase) && phase !== 'draft', {
      ...{ from: 'sender', label: texts.pace, means: texts.paceMeans, press: () => open('pace') },
    }),
    ...when(failedOf(campaign) > 0 && phase !== 'planning', {
      ...{ from: 'sender', label: texts.retry, means: texts.retryMeans, press: () => open('retry') },
    }),
    ...when(isEditable(campaign), {
      from: 'editor',
      label: texts.edit,
      means: editMeans(campaign),
      press: edit,
    }),
    {
      ...{ from: 'editor', label: texts.duplicate, means: texts.duplicateMeans },
      press: () => act('duplicate'),
    },
    ...when(!isOver(phase), {
      ...{ from: 'editor', label: texts.cancel, means: texts.cancelMeans, kind: 'danger' },
      press: () => open('cancel'),
    }),
  ];
}

/** A draft with an hour ahead is scheduled by its start. */
function startMeans({ schedule }: Detail): string {
  const { later, recurring } = TEXTS.newCampaign.review.startMeans;
  if (schedule?.cron) return recurring;
  return schedule?.startAt && Date.parse(schedule.startAt) > Date.now() ? later : texts.startMeans;
}

const when = (isSo: boolean, control: Control): Control[] => (isSo ? [control] : []);

function editMeans({ id, phase }: Detail): string {
  const { editMeans: means, editScheduled, editPaused, editReplaces } = texts;
  return [
    means,
    phase === 'scheduled' && editScheduled,
    phase === 'paused' && editPaused,
    holdsOther(id) && editReplaces,
  ]
    .filter(Boolean)
    .join(' ');
}

const isHeldForApproval = ({ reason, phase }: Detail): boolean =>
  typeof reason === 'object' && reason?.code === 'approval_required' && !isOver(phase);

/** Refused ones are sent again by their code alone, beside each outcome. */
const failedOf = ({ counts }: Detail): number =>
  Object.values(counts).reduce((sum, one) => sum + one.failed + one.undelivered + one.unknown, 0);
