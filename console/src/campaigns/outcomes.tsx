import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { Badge, type Tone } from '../design/badge';
import { Button } from '../design/button';
import { ErrorState, Skeleton } from '../design/states';
import { type Column, Table } from '../design/table';
import { formatNumber } from '../format';
import { useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { campaignQuery, type Outcome, outcomesQuery } from './campaign-queries';
import { type Phase, stateTone, stateWord } from './campaign-words';
import { RetryDialog } from './control-dialogs';
import { meaningOf } from './outcome-words';

const { campaign } = TEXTS;
const texts = campaign.outcomes;

/** What became of recipients, by code: what each means and what to do about it. */
export function Outcomes({ id, phase }: { id: string; phase: Phase }) {
  const may = useMay();
  const found = useQuery(outcomesQuery(id));
  const { data: detail } = useQuery(campaignQuery(id));
  const [again, setAgain] = useState<{ state: string; code: string }>();
  const columns: Column<Outcome>[] = [
    {
      key: 'outcome',
      head: texts.outcome,
      cell: ({ state, channel }) => (
        <>
          <Badge tone={toneOf(state)}>{stateWord(state)}</Badge>{' '}
          <span className="muted small">{TEXTS.channels[channel]}</span>
        </>
      ),
    },
    { key: 'count', head: campaign.count, numeric: true, cell: ({ count }) => formatNumber(count) },
    {
      key: 'means',
      head: texts.means,
      cell: ({ state, code }) => {
        const { means, todo } = meaningOf(state, code);
        return (
          <>
            {code !== null && <code>{code}</code>} {means} <strong>{todo}</strong>
          </>
        );
      },
    },
    {
      key: 'do',
      head: <span className="only-heard">{campaign.control.title}</span>,
      cell: ({ state, code, channel }) => (
        <span className="row outcome-acts">
          <Link
            to="/campaigns/$id/recipients"
            params={{ id }}
            search={{ state, channel, ...(code === null ? {} : { code }) }}
          >
            {texts.show}
          </Link>
          {code !== null && isRetriable(state) && phase !== 'planning' && may('sender') && (
            <Button small onClick={() => setAgain({ state, code })}>
              {campaign.control.retryCode}
            </Button>
          )}
        </span>
      ),
    },
  ];
  return (
    <section className="stack tight" aria-labelledby="outcomes">
      <h2 id="outcomes">{texts.title}</h2>
      {found.isPending && <Skeleton />}
      {found.error && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      {found.data?.length === 0 && <p className="muted">{texts.empty}</p>}
      {found.data && found.data.length > 0 && (
        <Table
          stacks
          caption={texts.title}
          columns={columns}
          rows={found.data}
          keyOf={({ channel, state, code }) => `${channel} ${state} ${code}`}
        />
      )}
      {again && detail && <RetryDialog campaign={detail} only={again} onClose={() => setAgain(undefined)} />}
    </section>
  );
}

const isRetriable = (state: string) => ['failed', 'undelivered', 'unknown', 'rejected'].includes(state);

const toneOf = (state: Outcome['state']): Tone => {
  const tone = stateTone(state);
  return tone === 'open' ? 'idle' : tone;
};
