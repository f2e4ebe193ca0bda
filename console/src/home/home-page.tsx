import { useQuery } from '@tanstack/react-query';
import type { Overview } from '../api/types.gen';
import { isChannel } from '../campaigns/campaign-words';
import { Badge, type Tone } from '../design/badge';
import { Page } from '../design/page';
import { ErrorState, Skeleton } from '../design/states';
import { type Column, Table } from '../design/table';
import { Time } from '../design/time';
import { formatDuration, formatNumber } from '../format';
import { TEXTS } from '../texts';
import { overviewQuery } from './home-queries';
import { RunningCampaigns } from './running-campaigns';
import { StopCard } from './stop-card';

const { home: texts, channels } = TEXTS;

export function HomePage() {
  const found = useQuery(overviewQuery);
  return (
    <Page title={TEXTS.nav.home} lead={texts.lead}>
      {/* First, because below what runs it would be screens away when it is needed. */}
      <StopCard />
      {found.isPending && <Skeleton lines={8} />}
      {found.error && !found.data && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      {found.data && <OverviewOf overview={found.data} />}
    </Page>
  );
}

function OverviewOf({ overview }: { overview: Overview }) {
  const { campaigns, outbox, accounts, lastHour } = overview;
  const hour = Object.entries(lastHour)
    .filter(([channel]) => isChannel(channel))
    .map(([channel, counts]) => ({ channel: channel as Hour['channel'], ...counts }) as Hour);
  return (
    <>
      <RunningCampaigns campaigns={campaigns} />
      <div className="columns">
        <section className="stack tight" aria-labelledby="hour">
          <h2 id="hour">{texts.lastHour}</h2>
          <Table caption={texts.lastHour} columns={HOUR} rows={hour} keyOf={({ channel }) => channel} />
        </section>
        <section className="stack tight" aria-labelledby="outbox">
          <h2 id="outbox">{texts.outbox.title}</h2>
          <Table
            caption={texts.outbox.title}
            columns={OUTBOX}
            rows={outbox}
            keyOf={({ channel }) => channel}
          />
        </section>
        <section className="stack tight" aria-labelledby="accounts">
          <h2 id="accounts">{texts.accounts.title}</h2>
          <Table caption={texts.accounts.title} columns={ACCOUNTS} rows={accounts} keyOf={({ id }) => id} />
        </section>
      </div>
    </>
  );
}

type Hour = { channel: keyof typeof channels; sent: number; delivered: number; failed: number };

const HOUR: Column<Hour>[] = [
  { key: 'channel', head: TEXTS.campaigns.channel, cell: ({ channel }) => channels[channel] },
  { key: 'sent', head: texts.sent, numeric: true, cell: ({ sent }) => formatNumber(sent) },
  {
    key: 'delivered',
    head: texts.delivered,
    numeric: true,
    cell: ({ delivered }) => formatNumber(delivered),
  },
  { key: 'failed', head: texts.failed, numeric: true, cell: ({ failed }) => formatNumber(failed) },
];

const OUTBOX: Column<Overview['outbox'][number]>[] = [
  { key: 'channel', head: TEXTS.campaigns.channel, cell: ({ channel }) => channels[channel] },
  { key: 'due', head: texts.outbox.due, numeric: true, cell: ({ due }) => formatNumber(due) },
  {
    key: 'oldest',
    head: texts.outbox.oldest,
    cell: ({ due, oldestSeconds }) => (due === 0 ? '–' : formatDuration(oldestSeconds)),
  },
  { key: 'held', head: texts.outbox.held, numeric: true, cell: ({ held }) => formatNumber(held) },
];

const TONES: Record<Overview['accounts'][number]['state'], Tone> = {
  ok: 'ok',
  paused: 'bad',
  throttled: 'warn',
};

const ACCOUNTS: Column<Overview['accounts'][number]>[] = [
  {
    key: 'name',
    head: texts.accounts.name,
    cell: ({ name, kind }) => (
      <>
        {name} <span className="muted small">{kind}</span>
      </>
    ),
  },
  {
    key: 'state',
    head: texts.accounts.state,
    cell: ({ state, reason, since }) => (
      <>
        <Badge tone={TONES[state]}>{texts.accounts.states[state]}</Badge>
        {state !== 'ok' && (
          <div className="small">
            {reason} {since && <Time at={since} />}
          </div>
        )}
      </>
    ),
  },
];
