import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { addressOf } from '../api/client';
import { Bar } from '../design/bar';
import { ExportButton } from '../design/export-button';
import { ErrorState, Skeleton } from '../design/states';
import { Time } from '../design/time';
import { fill, formatNumber, formatShare, plural } from '../format';
import { TEXTS } from '../texts';
import { campaignQuery, type Detail } from './campaign-queries';
import {
  barParts,
  type Channel,
  type Counts,
  countsSentence,
  doneShare,
  isChannel,
  isOver,
  STATES,
  stateTone,
  stateWord,
} from './campaign-words';
import { Controls } from './controls';
import { Outcomes } from './outcomes';
import { Stages } from './stages';
import { useProgress } from './use-progress';

const { campaign: texts, channels } = TEXTS;
const route = getRouteApi('/signed-in/campaigns/$id');

/** The plot and its library are loaded when a campaign is looked at. */
const TimelinePart = lazy(async () => ({ default: (await import('./timeline')).TimelinePart }));

export function OverviewPart() {
  const { id } = route.useParams();
  const { data: campaign, error, refetch } = useQuery(campaignQuery(id));
  const isLive = useProgress(id, campaign?.phase);
  if (!campaign) return error ? <ErrorState error={error} onRetry={() => void refetch()} /> : <Skeleton />;
  return (
    <div className="stack">
      <Facts campaign={campaign} isLive={isLive} />
      <section className="stack tight" aria-labelledby="progress">
        <h2 id="progress">{texts.progress}</h2>
        <div className="columns">
          {Object.entries(campaign.counts)
            .filter((entry): entry is [Channel, Counts] => isChannel(entry[0]))
            .map(([channel, counts]) => (
              <ChannelCard key={channel} id={id} channel={channel} counts={counts} campaign={campaign} />
            ))}
        </div>
      </section>
      <Controls campaign={campaign} />
      {campaign.release && <Stages release={campaign.release} />}
      <Suspense fallback={<Skeleton />}>
        <TimelinePart id={id} />
      </Suspense>
      <Outcomes id={id} phase={campaign.phase} />
    </div>
  );
}

function Facts({ campaign, isLive }: { campaign: Detail; isLive: boolean }) {
  const { ratePerSecond, eta, startedAt, finishedAt, nextRunAt, delivery, phase } = campaign;
  const startAt = campaign.schedule?.cron ? undefined : campaign.schedule?.startAt;
  const isMoving = ['planning', 'running', 'finishing'].includes(phase);
  return (
    <div className="row spread end">
      <dl className="tiles">
        {isMoving && (
          <div>
            <dt>{texts.rate}</dt>
            <dd>{fill(texts.rateNow, { n: Math.round(ratePerSecond * 10) / 10 })}</dd>
          </div>
        )}
        {eta && (
          <div>
            <dt>{texts.eta}</dt>
            <dd>
              <Time at={eta} />
            </dd>
          </div>
        )}
        {nextRunAt && (
          <div>
            <dt>{texts.nextRun}</dt>
            <dd>
              <Time at={nextRunAt} />
            </dd>
          </div>
        )}
        {startAt && !startedAt && !isOver(phase) && (
          <div>
            <dt>{texts.starts}</dt>
            <dd>
              <Time at={startAt} />
            </dd>
          </div>
        )}
        <div>
          <dt>{startedAt ? texts.started : texts.createdAt}</dt>
          <dd>
            <Time at={startedAt ?? campaign.createdAt} />
          </dd>
        </div>
        {finishedAt && (
          <div>
            <dt>{texts.finished}</dt>
            <dd>
              <Time at={finishedAt} />
            </dd>
          </div>
        )}
        <div>
          <dt>{texts.limit}</dt>
          <dd>
            {delivery?.ratePerSecond ? fill(texts.rateNow, { n: delivery.ratePerSecond }) : texts.noLimit}
          </dd>
        </div>
      </dl>
      {isMoving && <p className="muted small">{isLive ? texts.live : texts.notLive}</p>}
    </div>
  );
}

function ChannelCard({
  id,
  channel,
  counts,
  campaign,
}: {
  id: string;
  channel: Channel;
  counts: Counts;
  campaign: Detail;
}) {
  const skipped = Object.entries(campaign.skipped[channel] ?? {}).filter(([, count]) => count > 0);
  const left = skipped.reduce((sum, [, count]) => sum + count, 0);
  return (
    <section className="card stack tight by-state" aria-label={channels[channel]}>
      <div className="row spread">
        <h3>{channels[channel]}</h3>
        <span className="muted">
          {plural(counts.total, texts.total)}
          {counts.total > 0 && `, ${fill(texts.done, { share: doneShare(counts) })}`}
        </span>
      </div>
      <Bar parts={barParts(counts)} label={countsSentence(counts)} />
      {counts.total === 0 ? (
        <p className="muted">{texts.noRecipients}</p>
      ) : (
        <ul className="counts">
          {STATES.filter((state) => counts[state] > 0).map((state) => (
            <li key={state}>
              <span className={`dot ${stateTone(state)}`} aria-hidden="true" />
              <Link to="/campaigns/$id/recipients" params={{ id }} search={{ state, channel }}>
                {stateWord(state)}
              </Link>
              <span className="muted small">{texts.states[state].means}</span>
              <span className="number">{formatNumber(counts[state])}</span>
              <span className="number muted">{formatShare(counts[state], counts.total)}</span>
            </li>
          ))}
        </ul>
      )}
      {left > 0 && (
        <details>
          <summary>{plural(left, texts.skippedText)}</summary>
          <ul className="counts">
            {skipped.map(([reason, count]) => (
              <li key={reason}>
                <span aria-hidden="true" />
                <span>{texts.skippedReasons[reason as keyof typeof texts.skippedReasons] ?? reason}</span>
                <span />
                <span className="number">{formatNumber(count)}</span>
                <span />
              </li>
            ))}
          </ul>
          <ExportButton
            address={addressOf('/api/campaign/{id}/skipped.csv', { id }, { channel })}
            name={`skipped-${channel}-${id}.csv`}
          >
            {texts.exportSkipped}
          </ExportButton>
        </details>
      )}
    </section>
  );
}
