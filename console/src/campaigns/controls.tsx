import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { Button } from '../design/button';
import { draftOfCampaign } from '../new-campaign/draft-of-campaign';
import { openInForm } from '../new-campaign/use-draft';
import { NotShown, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { useRuleAgainst } from './approval-rule';
import { ApproveDialog } from './approve-dialog';
import type { Detail } from './campaign-queries';
import { CancelDialog, PaceDialog, RetryDialog } from './control-dialogs';
import { type Control, controlsOf, type Question } from './controls-of';
import { useAct } from './use-act';

const texts = TEXTS.campaign.control;

/** Pause, or resume: at the head of each part of a campaign, because on a phone the other controls are screens below. */
export function HeadControls({ campaign }: { campaign: Detail }) {
  const { controls, isBusy, dialog } = useControls(campaign);
  const may = useMay();
  const control = controls.find(({ from, atHead }) => atHead && may(from));
  return (
    <>
      {control && (
        <div className="head-control">
          <Button toggles kind={control.kind} busy={isBusy} onClick={control.press}>
            {control.label}
          </Button>
          <p className="muted small">{control.means}</p>
        </div>
      )}
      {dialog}
    </>
  );
}

/** What else can be done with a campaign now, each with what will happen in a sentence beside it. */
export function Controls({ campaign }: { campaign: Detail }) {
  const { controls, isBusy, dialog } = useControls(campaign);
  const may = useMay();
  return (
    <section className="card stack tight" aria-labelledby="control">
      <h2 id="control">{texts.title}</h2>
      <div className="controls">
        {controls
          .filter(({ from, atHead }) => !atHead && may(from))
          .map(({ label, means, kind, press }) => (
            <div key={label} className="control">
              <Button kind={kind} busy={isBusy} onClick={press}>
                {label}
              </Button>
              <p className="muted">{means}</p>
            </div>
          ))}
      </div>
      <NotShown labels={controls.filter(({ from }) => !may(from)).map(({ label }) => label)} />
      {dialog}
    </section>
  );
}

function useControls(campaign: Detail) {
  const [question, ask] = useState<Question>();
  const act = useAct(campaign, () => ask('approve'));
  const rule = useRuleAgainst(campaign);
  const navigate = useNavigate();
  const edit = () => {
    openInForm(draftOfCampaign(campaign));
    void navigate({ to: '/new-campaign' });
  };
  const controls: Control[] = controlsOf(campaign, { above: rule?.above, act: act.mutate, open: ask, edit });
  const Dialog = question && DIALOGS[question];
  const dialog = Dialog && <Dialog campaign={campaign} onClose={() => ask(undefined)} />;
  return { controls, isBusy: act.isPending, dialog };
}

const DIALOGS = { cancel: CancelDialog, pace: PaceDialog, retry: RetryDialog, approve: ApproveDialog };
