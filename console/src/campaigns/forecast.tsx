import type { Finding, Forecast } from '../api/types.gen';
import { type Column, Table } from '../design/table';
import { Time } from '../design/time';
import { formatNumber } from '../format';
import { TEXTS } from '../texts';

const { review: texts, campaign, channels } = TEXTS;

interface Row extends Forecast {
  channel: string;
}

/** Who would get it and who would not, by channel: of a dry run, and of what is to be approved. */
export function ForecastTable({ channels: forecasts }: { channels: Record<string, Forecast> }) {
  const rows = Object.entries(forecasts).map(([channel, forecast]): Row => ({ channel, ...forecast }));
  return <Table caption={texts.table} columns={COLUMNS} rows={rows} keyOf={({ channel }) => channel} />;
}

const COLUMNS: Column<Row>[] = [
  {
    key: 'channel',
    head: TEXTS.campaigns.channel,
    cell: ({ channel }) => channels[channel as keyof typeof channels] ?? channel,
  },
  { key: 'gets', head: texts.gets, numeric: true, cell: ({ recipients }) => formatNumber(recipients) },
  {
    key: 'not',
    head: texts.getsNot,
    cell: ({ skipped }) => {
      const left = Object.entries(skipped).filter(([, count]) => count > 0);
      if (left.length === 0) return texts.none;
      return (
        <ul className="plain">
          {left.map(([reason, count]) => (
            <li key={reason}>
              {formatNumber(count)}:{' '}
              {campaign.skippedReasons[reason as keyof typeof campaign.skippedReasons] ?? reason}
            </li>
          ))}
        </ul>
      );
    },
  },
  {
    key: 'segments',
    head: texts.segments,
    numeric: true,
    cell: ({ segments }) => (segments === undefined ? '–' : formatNumber(segments)),
  },
  {
    key: 'when',
    head: texts.when,
    cell: ({ earliest, latest }) =>
      earliest === null ? (
        texts.atOnce
      ) : (
        <>
          <Time at={earliest} />
          {latest !== null && latest !== earliest && (
            <>
              {' – '}
              <Time at={latest} />
            </>
          )}
        </>
      ),
  },
];

export function Warnings({ warnings }: { warnings: readonly Finding[] }) {
  if (warnings.length === 0) return <p className="muted">{texts.noWarnings}</p>;
  return (
    <ul className="notice warn plain">
      {warnings.map(({ path, code, message }) => (
        <li key={`${path} ${code} ${message}`}>{message}</li>
      ))}
    </ul>
  );
}
