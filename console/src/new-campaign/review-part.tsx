import { useEffect, useRef } from 'react';
import type { DryRun } from '../api/types.gen';
import { useApprovalRule } from '../campaigns/approval-rule';
import { ForecastTable, Warnings } from '../campaigns/forecast';
import { Button } from '../design/button';
import { ErrorState } from '../design/states';
import { type Column, Table } from '../design/table';
import { fill, formatDuration, formatNumber, plural } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';

const texts = TEXTS.newCampaign.review;

interface ReviewProps {
  found: DryRun;
  when: 'now' | 'later' | 'recurring';
  /** Channels in turn, of which a dry run does not know when each begins. */
  isFallback: boolean;
  error: Error | null;
  isBusy: boolean;
  onStart(): void;
  onDraft(): void;
}

/** The dry run's answer, as a page to check before anything is sent. */
export function ReviewPart({ found, when, isFallback, error, isBusy, onStart, onDraft }: ReviewProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Who pressed the button begins to read here.
  useEffect(() => heading.current?.focus(), []);
  const forecasts = Object.values(found.channels);
  const recipients = forecasts.reduce((sum, one) => sum + one.recipients, 0);
  const contacts = Math.max(0, ...forecasts.map((one) => one.contacts));
  const rule = useApprovalRule(Object.keys(found.channels));
  const isApproved = rule === undefined || contacts <= rule.above;
  return (
    <section className="card stack" aria-labelledby="review">
      <h2 id="review" ref={heading} tabIndex={-1}>
        {texts.title}
      </h2>
      <p>{plural(recipients, texts.messages)}</p>
      {recipients > 0 && <p>{durationOf(found.durationSeconds, isFallback)}</p>}
      <ForecastTable channels={found.channels} />
      <Offenders found={found} />
      {found.rejected && found.rejected.length > 0 && (
        <>
          <h3>{plural(found.rejected.length, texts.rejected)}</h3>
          <Table
            caption={texts.rejectedTable}
            columns={REJECTED}
            rows={found.rejected.slice(0, 100)}
            keyOf={({ index, field }) => `${index} ${field}`}
          />
        </>
      )}
      <Warnings warnings={found.warnings} />
      {!isApproved && <p className="notice">{fill(texts.needsApproval, { n: formatNumber(rule.above) })}</p>}
      {error && <ErrorState error={error} />}
      <div className="row">
        <Allowed from="sender" label={isApproved ? texts.start : texts.ask}>
          <Button kind="primary" busy={isBusy} onClick={onStart}>
            {isApproved ? texts.start : texts.ask}
          </Button>
        </Allowed>
        <Button busy={isBusy} onClick={onDraft}>
          {texts.draft}
        </Button>
        <span className="muted">{isApproved ? texts.startMeans[when] : texts.askMeans}</span>
      </div>
    </section>
  );
}

function durationOf(seconds: number | null, isFallback: boolean): string {
  if (seconds === null) return isFallback ? texts.durationInTurns : texts.durationUnknown;
  return fill(texts.duration, { span: formatDuration(Math.max(1, seconds)) });
}

function Offenders({ found }: { found: DryRun }) {
  const missing = new Map<string, number>();
  for (const { offenders } of Object.values(found.channels))
    for (const offender of offenders)
      for (const name of offender.missing) missing.set(name, (missing.get(name) ?? 0) + 1);
  if (missing.size === 0) return null;
  const names = [...missing].map(([name, count]) => `${name} (${formatNumber(count)})`).join(', ');
  return <p className="notice warn">{fill(texts.missing, { names })}</p>;
}

const REJECTED: Column<NonNullable<DryRun['rejected']>[number]>[] = [
  { key: 'row', head: texts.row, numeric: true, cell: ({ index }) => formatNumber(index + 1) },
  { key: 'field', head: texts.field, cell: ({ field }) => <code>{field}</code> },
  { key: 'message', head: texts.wrong, cell: ({ message }) => message },
];
