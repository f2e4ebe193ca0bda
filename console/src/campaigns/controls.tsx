import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import { useOnceKey } from '../api/once-key';
import { isProblem } from '../api/problem';
import { Button, type ButtonKind } from '../design/button';
import { messageOf } from '../design/states';
import { useToast } from '../design/toast';
import { fill, formatNumber } from '../format';
import { draftOfCampaign } from '../new-campaign/draft-of-campaign';
import { holdsOther, openInForm } from '../new-campaign/use-draft';
import { NotShown, useMay } from '../shell/allowed';
import type { Role } from '../shell/navigation';
import { TEXTS } from '../texts';
import { useRuleAgainst } from './approval-rule';
import { ApproveDialog } from './approve-dialog';
import { campaignQuery, type Detail } from './campaign-queries';
import { isOver, phaseWord } from './campaign-words';
import { CancelDialog, PaceDialog, RetryDialog } from './control-dialogs';

const texts = TEXTS.campaign.control;

/** What can be done with a campaign now, each with what will happen in a sentence beside it. */
export function Controls({ campaign }: { campaign: Detail }) {
  const [open, setOpen] = useState<Question>();
  const act = useAct(campaign, () => setOpen('approve'));
  const rule = useRuleAgainst(campaign);
  const navigate = useNavigate();
  const may = useMay();
  const close = () => setOpen(undefined);
  const edit = () => {
    openInForm(draftOfCampaign(campaign));
    void navigate({ to: '/new-campaign' });
  };
  const controls = controlsOf(campaign, { above: rule?.above, act: act.mutate, open: setOpen, edit });
  return (
    <section className="card stack tight" aria-labelledby="control">
      <h2 id="control">{texts.title}</h2>
      <div className="controls">
        {controls
          .filter(({ from }) => may(from))
          .map(({ label, means, kind, press }) => (
            <div key={label} className="control">
              <Button kind={kind} busy={act.isPending} onClick={press}>
                {label}
              </Button>
              <p className="muted">{means}</p>
            </div>
          ))}
      </div>
      <NotShown labels={controls.filter(({ from }) => !may(from)).map(({ label }) => label)} />
      {open === 'cancel' && <CancelDialog campaign={campaign} onClose={close} />}
      {open === 'pace' && <PaceDialog campaign={campaign} onClose={close} />}
      {open === 'retry' && <RetryDialog campaign={campaign} onClose={close} />}
      {open === 'approve' && <ApproveDialog campaign={campaign} onClose={close} />}
    </section>
  );
}

interface Control {
  /** The lowest role that may. */
  from: Role;
  label: string;
  means: string;
  kind?: ButtonKind;
  press(): void;
}

/** Each is a dialog. */
type Question = 'cancel' | 'pace' | 'retry' | 'approve';

interface Presses {
  /** Where the workspace's rule asks for approval: above how many recipients. */
  above: number | undefined;
  act(act: Act): void;
  open(question: Question): void;
  edit(): void;
}

function controlsOf(campaign: Detail, { above, act, open, edit }: Presses): Control[] {
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
      ...{ from: 'editor', label: texts.pause, means: texts.pauseMeans, press: () => act('pause') },
    }),
    ...when(!needsApproval && (phase === 'paused' || phase === 'failed'), {
      from: 'sender',
      label: texts.resume,
      means: isHeldByGate ? texts.resumeGate : texts.resumeMeans,
      kind: 'primary',
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
    ...when(phase === 'draft' || phase === 'scheduled', {
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
  const { editMeans: means, editScheduled, editReplaces } = texts;
  return [means, phase === 'scheduled' && editScheduled, holdsOther(id) && editReplaces]
    .filter(Boolean)
    .join(' ');
}

const isHeldForApproval = ({ reason, phase }: Detail): boolean =>
  typeof reason === 'object' && reason?.code === 'approval_required' && !isOver(phase);

/** Refused ones are sent again by their code alone, beside each outcome. */
const failedOf = ({ counts }: Detail): number =>
  Object.values(counts).reduce((sum, one) => sum + one.failed + one.undelivered + one.unknown, 0);

type Act = 'start' | 'pause' | 'resume' | 'release' | 'duplicate';

/** A campaign that is too large for one person is shown to be approved, in place of a refusal. */
function useAct({ id }: Detail, onApprovalNeeded: () => void) {
  const queries = useQueryClient();
  const navigate = useNavigate();
  const say = useToast();
  const { queryKey } = campaignQuery(id);
  const once = useOnceKey();
  return useMutation({
    mutationFn: (act: Act) =>
      call<
        { url: `/api/campaign/{id}/${Act}`; path: { id: string }; body: object },
        { data: { id: string; phase: Detail['phase'] } }
      >('POST', `/api/campaign/{id}/${act}`, {
        path: { id },
        body: {},
        // The others say what a campaign shall be, and may be said twice.
        ...(act === 'duplicate' ? { idempotencyKey: once.keyOf(id) } : {}),
      }),
    onSuccess: async ({ data }, act) => {
      if (act === 'duplicate') {
        once.done();
        say(texts.duplicated);
        await navigate({ to: '/campaigns/$id', params: { id: data.id } });
        return;
      }
      queries.setQueryData(queryKey, (known) => (known ? { ...known, phase: data.phase } : known));
    },
    onError: (error) => {
      if (isProblem(error, 409, 'approval_required')) onApprovalNeeded();
      const phase = queries.getQueryData(queryKey)?.phase;
      const isConflict = isProblem(error, 409) && phase !== undefined;
      say(
        isConflict
          ? `${error.message} ${fill(texts.conflict, { phase: phaseWord(phase) })}`
          : messageOf(error),
        {
          bad: true,
        },
      );
    },
    onSettled: () => queries.invalidateQueries({ queryKey }),
  });
}
