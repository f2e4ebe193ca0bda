import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { CampaignTimeline } from '../api/types.gen';
import { ErrorState, Skeleton } from '../design/states';
import { fill, formatDuration, formatNumber, formatTime } from '../format';
import { TEXTS } from '../texts';
import { timelineQuery } from './campaign-queries';
import { STATES, type State, stateWord } from './campaign-words';

const { campaign, channels } = TEXTS;
const texts = campaign.timeline;

export function TimelinePart({ id }: { id: string }) {
  const found = useQuery(timelineQuery(id));
  return (
    <section className="stack tight" aria-labelledby="timeline">
      <h2 id="timeline">{texts.title}</h2>
      {found.isPending && <Skeleton lines={3} />}
      {found.error && <ErrorState error={found.error} onRetry={() => found.refetch()} />}
      {found.data && <Plots timeline={found.data} />}
    </section>
  );
}

function Plots({ timeline }: { timeline: CampaignTimeline }) {
  // An axis of time without a line says nothing.
  const shown = Object.entries(timeline.channels).filter(([, line]) => statesOf(line).length > 0);
  if (shown.length === 0) return <p className="muted">{texts.empty}</p>;
  return shown.map(([channel, line]) => (
    <figure key={channel} className="card stack tight">
      <figcaption>
        <strong>{channels[channel as keyof typeof channels] ?? channel}.</strong> {summaryOf(line)}
      </figcaption>
      <Plot line={line} />
    </figure>
  ));
}

type Line = CampaignTimeline['channels'][string];

const statesOf = ({ points }: Line): State[] =>
  STATES.filter((state) => points.some((point) => Number(point[state] ?? 0) > 0));

/** What the plot shows, in two sentences: a plot is a picture for those who cannot see it. */
function summaryOf(line: Line): string {
  const sums = line.points.map((point) => ({
    at: point.at,
    n: STATES.reduce((sum, state) => sum + Number(point[state] ?? 0), 0),
  }));
  const most = sums.reduce((best, one) => (one.n > best.n ? one : best));
  const first = sums.find(({ n }) => n > 0) ?? sums[0];
  const last = sums.findLast(({ n }) => n > 0) ?? sums.at(-1);
  const n = sums.reduce((sum, one) => sum + one.n, 0);
  if (!first || !last || n === 0) return texts.empty;
  const span = formatDuration(line.stepSeconds);
  return [
    fill(texts.sum, { n: formatNumber(n), from: formatTime(first.at), to: formatTime(last.at) }),
    fill(texts.busiest, { time: formatTime(most.at), n: formatNumber(most.n), span }),
  ].join(' ');
}

const HEIGHT = 220;
const COLOURS: Partial<Record<State, string>> = {
  delivered: '--ok',
  sent: '--accent',
  failed: '--bad',
  undelivered: '--bad',
  rejected: '--bad',
  unknown: '--warn',
  waiting: '--warn',
};

function Plot({ line }: { line: Line }) {
  const place = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot>(undefined);
  const states = statesOf(line);
  const names = states.join(' ');
  const data = [
    line.points.map(({ at }) => Date.parse(at) / 1_000),
    ...states.map((state) => line.points.map((point) => Number(point[state] ?? 0))),
  ] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const host = place.current;
    if (!host) return undefined;
    const axis = { stroke: colourOf(host, '--muted'), grid: { stroke: colourOf(host, '--line') } };
    const shown = names === '' ? [] : (names.split(' ') as State[]);
    plot.current = new uPlot(
      {
        width: host.clientWidth,
        height: HEIGHT,
        axes: [axis, axis],
        series: [
          {
            label: '',
            value: (_plot, at) => (at === null ? '' : formatTime(at * 1_000)),
          },
          ...shown.map((state, index) => ({
            label: stateWord(state),
            value: (_plot: uPlot, n: number | null) => (n === null ? '' : formatNumber(n)),
            stroke: colourOf(host, COLOURS[state] ?? '--border'),
            width: 2,
            // Lines of one colour differ by their dashes too.
            ...(index % 2 === 1 ? { dash: [6, 4] } : {}),
          })),
        ],
      },
      latest.current,
      host,
    );
    const watch = new ResizeObserver(() =>
      plot.current?.setSize({ width: host.clientWidth, height: HEIGHT }),
    );
    watch.observe(host);
    return () => {
      watch.disconnect();
      plot.current?.destroy();
    };
  }, [names]);
  useEffect(() => plot.current?.setData(data));
  return <div className="plot" ref={place} role="img" aria-label={texts.chart} />;
}

/** A canvas knows no custom properties: an element computes them, for the theme of now. */
function colourOf(host: HTMLElement, name: string): string {
  const probe = document.createElement('span');
  probe.style.color = `var(${name})`;
  host.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
