import { useMutation, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../api/client';
import type { Overview } from '../api/types.gen';
import {
  barParts,
  countsSentence,
  doneShare,
  phaseTone,
  phaseWord,
  sumOf,
} from '../campaigns/campaign-words';
import { Badge } from '../design/badge';
import { Bar } from '../design/bar';
import { Button, LinkButton } from '../design/button';
import { EmptyState, messageOf } from '../design/states';
import { useToast } from '../design/toast';
import { fill, formatTime } from '../format';
import { NotShown, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';

const { home: texts, campaign } = TEXTS;

/** What runs and what waits, each with its progress and the one control that is needed in a hurry. */
export function RunningCampaigns({ campaigns }: { campaigns: Overview['campaigns'] }) {
  const may = useMay();
  if (campaigns.length === 0)
    return (
      <EmptyState
        title={texts.nothingRuns}
        action={may('editor') && <LinkButton to="/new-campaign">{TEXTS.home.make}</LinkButton>}
      >
        {texts.nothingRunsText}
      </EmptyState>
    );
  return (
    <section className="stack tight" aria-labelledby="running">
      <h2 id="running">{texts.running}</h2>
      {campaigns.map((one) => (
        <RunningCampaign key={one.id} campaign={one} />
      ))}
      <NotShown labels={CONTROLS.filter(({ from }) => !may(from)).map(({ label }) => label)} />
    </section>
  );
}

/** An editor may pause. Going on is a decision to send, and needs a sender. */
const CONTROLS = [
  { from: 'editor', label: campaign.control.pause },
  { from: 'sender', label: campaign.control.resume },
] as const;

function RunningCampaign({ campaign: one }: { campaign: Overview['campaigns'][number] }) {
  const { id, name, phase, ratePerSecond, eta } = one;
  const counts = sumOf(Object.values(one.counts));
  const queries = useQueryClient();
  const say = useToast();
  const may = useMay();
  const act = phase === 'paused' ? 'resume' : 'pause';
  const change = useMutation({
    mutationFn: () =>
      call<{ url: `/api/campaign/{id}/${typeof act}`; path: { id: string }; body: object }, unknown>(
        'POST',
        `/api/campaign/{id}/${act}`,
        { path: { id }, body: {} },
      ),
    onError: (error) => say(messageOf(error), { bad: true }),
    onSettled: () => queries.invalidateQueries({ queryKey: ['overview'] }),
  });
  const label = act === 'pause' ? campaign.control.pause : campaign.control.resume;
  return (
    <article className="card stack tight">
      <div className="row spread">
        <div className="row">
          <h3>
            <Link to="/campaigns/$id" params={{ id }}>
              {name}
            </Link>
          </h3>
          <Badge tone={phaseTone(phase)}>{phaseWord(phase)}</Badge>
        </div>
        {may(act === 'pause' ? 'editor' : 'sender') && (
          <Button
            small
            toggles
            busy={change.isPending}
            aria-label={`${label} ${name}`}
            onClick={() => change.mutate()}
          >
            {label}
          </Button>
        )}
      </div>
      <Bar parts={barParts(counts)} label={countsSentence(counts)} />
      <p className="muted small">
        {counts.total > 0 && `${fill(campaign.done, { share: doneShare(counts) })} · `}
        {countsSentence(counts)}
        {ratePerSecond > 0 && ` · ${fill(campaign.rateNow, { n: Math.round(ratePerSecond * 10) / 10 })}`}
        {eta && ` · ${fill(texts.endsAt, { time: formatTime(eta) })}`}
      </p>
    </article>
  );
}
