import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link } from '@tanstack/react-router';
import { Badge } from '../design/badge';
import { ErrorState, Skeleton } from '../design/states';
import { Time } from '../design/time';
import { fill, formatTime } from '../format';
import { TEXTS } from '../texts';
import { type Story, storyQuery } from './campaign-queries';
import { stateTone, stateWord } from './campaign-words';

const { campaign, channels } = TEXTS;
const texts = campaign.story;
const route = getRouteApi('/signed-in/campaigns/$id/recipients/$recipientId');

/** Everything that happened to one recipient, and what happens next and why: to be read out to whom it concerns. */
export function StoryPart() {
  const { id, recipientId } = route.useParams();
  const found = useQuery(storyQuery(id, recipientId));
  return (
    <section className="stack" aria-label={texts.title}>
      <Link to="/campaigns/$id/recipients" params={{ id }}>
        ← {texts.back}
      </Link>
      {found.isPending && <Skeleton />}
      {found.error && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      {found.data && <StoryOf id={id} story={found.data} />}
    </section>
  );
}

function StoryOf({ id, story }: { id: string; story: Story }) {
  const { recipient, summary, next, steps, others = [] } = story;
  const tone = recipient ? stateTone(recipient.state) : 'idle';
  return (
    <>
      <div className="card stack tight">
        {recipient && (
          <div className="row">
            <h2>{recipient.address || recipient.contactId}</h2>
            <Badge tone={tone === 'open' ? 'idle' : tone}>{stateWord(recipient.state)}</Badge>
            <span className="muted">{channels[recipient.channel]}</span>
          </div>
        )}
        <p>{summary}</p>
        <h3>{texts.next}</h3>
        {next ? (
          <p>
            {next.detail} {next.at && <strong>{fill(texts.at, { time: formatTime(next.at) })}</strong>}
          </p>
        ) : (
          <p className="muted">{texts.nothing}</p>
        )}
      </div>
      <h2>{texts.steps}</h2>
      <ol className="steps">
        {steps.map((step) => (
          <li key={`${step.at} ${step.what} ${step.detail}`}>
            <span className="muted small">
              <Time at={step.at} />
            </span>
            <div>
              <strong>{texts.what[step.what] ?? step.what}</strong> {step.code && <code>{step.code}</code>}
              <p>{step.detail}</p>
              {step.data && Object.keys(step.data).length > 0 && <Details data={step.data} />}
            </div>
          </li>
        ))}
      </ol>
      {others.length > 0 && (
        <>
          <h2>{texts.others}</h2>
          <ul className="plain">
            {others.map((recipientId, index) => (
              <li key={recipientId}>
                <Link to="/campaigns/$id/recipients/$recipientId" params={{ id, recipientId }}>
                  {texts.other} {index + 1}
                </Link>
              </li>
            ))}
          </ul>
        </>
      )}
    </>
  );
}

function Details({ data }: { data: Record<string, unknown> }) {
  return (
    <details className="small">
      <summary>{texts.details}</summary>
      <dl className="facts">
        {Object.entries(data).map(([name, value]) => (
          <div key={name} className="fact">
            <dt>{name}</dt>
            <dd className="mono">{typeof value === 'string' ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}
