import { Badge } from '../design/badge';
import { type Column, Table } from '../design/table';
import { fill, formatDuration, formatShare, formatTime, plural } from '../format';
import { TEXTS } from '../texts';
import type { Detail } from './campaign-queries';

const { stages: texts } = TEXTS.campaign;

type Release = NonNullable<Detail['release']>;
type Stage = Release['stages'][number] & { number: number };

/** Where a release in stages stands, and what its gates have judged. */
export function Stages({ release }: { release: Release }) {
  const { stages, stage, of, next, judged } = release;
  const rows: Stage[] = [
    ...stages.map((one, index) => ({ ...one, number: index + 1 })),
    ...(of > stages.length ? [{ number: of }] : []),
  ];
  return (
    <section className="stack tight" aria-labelledby="stages">
      <h2 id="stages">{texts.title}</h2>
      <p>
        {fill(texts.now, { stage, of })}. {next === 'manual' && texts.manual}
        {next !== null && next !== 'manual' && fill(texts.next, { time: formatTime(next) })}
      </p>
      <Table caption={texts.title} columns={COLUMNS} rows={rows} keyOf={({ number }) => String(number)} />
      {judged.length > 0 && (
        <>
          <h3>{texts.judged}</h3>
          <ul className="plain">
            {judged.map(({ stage: at, metric, value, sample, passed, at: time }) => (
              <li key={`${at} ${metric} ${time}`}>
                <Badge tone={passed ? 'ok' : 'bad'}>{passed ? texts.passed : texts.closed}</Badge>{' '}
                {fill(texts.judgedLine, { stage: at, metric, value: formatShare(value, 1), sample })}
              </li>
            ))}
          </ul>
        </>
      )}
    </section>
  );
}

const COLUMNS: Column<Stage>[] = [
  { key: 'stage', head: texts.stage, cell: ({ number }) => number },
  {
    key: 'size',
    head: texts.size,
    cell: ({ recipients, percent }) => {
      if (recipients !== undefined) return plural(recipients, texts.recipients);
      if (percent !== undefined) return fill(texts.percent, { n: formatShare(percent, 100) });
      return texts.rest;
    },
  },
  {
    key: 'wait',
    head: texts.wait,
    cell: ({ recipients, percent, waitSeconds }) => {
      if (recipients === undefined && percent === undefined) return '–';
      return waitSeconds === undefined ? texts.byHand : formatDuration(waitSeconds);
    },
  },
];
