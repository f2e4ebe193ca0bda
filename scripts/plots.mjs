/**
 * Draws time series as SVG, without a library: a grid of small plots, each with its title, axes and legend. For the
 * pictures of docs, which are made from measurements.
 */
const PLOT = { width: 380, height: 210, left: 56, right: 12, top: 30, bottom: 40 };
const GAP = 12;
const COLOURS = ['#2563eb', '#dc2626', '#059669', '#d97706', '#7c3aed', '#0891b2', '#be185d', '#4d7c0f'];
const LEGEND_MAX = 5;
const TICKS = 4;
/** Of a character of the legend, in a font that the reader's machine chooses. */
const LEGEND_CHAR = 5.6;

/**
 * `plots`: `{ title, unit, series: [{ name, points: [[second, value]] }] }`. A value that is null breaks its line.
 * `marks` are seconds at which a dotted line stands in each.
 */
export function gridOfPlots(plots, { columns = 3, marks = [], title }) {
  const rows = Math.ceil(plots.length / columns);
  const [width, height] = [columns * PLOT.width + (columns + 1) * GAP, rows * PLOT.height + (rows + 1) * GAP];
  const seconds = plots.flatMap(({ series }) =>
    series.flatMap((one) => one.points.map(([second]) => second)),
  );
  const span = { from: least(seconds), to: most(seconds) };
  const cells = plots.map((plot, i) => {
    const [x, y] = [i % columns, Math.floor(i / columns)];
    const at = `translate(${GAP + x * (PLOT.width + GAP)} ${GAP + y * (PLOT.height + GAP)})`;
    return `<g transform="${at}">\n${plotOf(plot, span, marks)}\n</g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" font-family="system-ui, sans-serif">`,
    `<title>${escaped(title)}</title>`,
    `<rect width="${width}" height="${height}" fill="#f8fafc"/>`,
    ...cells,
    '</svg>\n',
  ].join('\n');
}

function plotOf({ title, unit, series }, span, marks) {
  const points = series.flatMap((one) => one.points).filter(([, value]) => Number.isFinite(value));
  const frame = [
    `<rect width="${PLOT.width}" height="${PLOT.height}" rx="4" fill="#ffffff" stroke="#e2e8f0"/>`,
    `<text x="10" y="19" font-size="12" font-weight="600" fill="#0f172a">${escaped(title)}</text>`,
  ];
  if (points.length === 0) {
    const at = `x="${PLOT.width / 2}" y="${PLOT.height / 2}"`;
    return [
      ...frame,
      `<text ${at} font-size="11" text-anchor="middle" fill="#64748b">no samples</text>`,
    ].join('\n');
  }
  const scale = scaleOf(points, span);
  return [
    ...frame,
    ...axes(scale, unit),
    ...marks.filter((at) => at >= scale.from && at <= scale.to).map((at) => markAt(scale.x(at))),
    ...series.map((one, i) => lineOf(one.points, scale, COLOURS[i % COLOURS.length])),
    ...legend(series),
  ].join('\n');
}

/** The value axis begins at zero, so that a change looks as large as it is; the axis of time is the same in all plots. */
function scaleOf(points, { from, to }) {
  const top = niceTop(most(points.map(([, value]) => value)));
  const [wide, high] = [PLOT.width - PLOT.left - PLOT.right, PLOT.height - PLOT.top - PLOT.bottom];
  return {
    ...{ from, to, top },
    x: (second) => PLOT.left + (to === from ? wide / 2 : ((second - from) / (to - from)) * wide),
    y: (value) => PLOT.top + high - (value / top) * high,
  };
}

function niceTop(value) {
  if (value <= 0) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 4, 8, 10].find((factor) => factor * power >= value) ?? 10) * power;
}

function axes({ from, to, top, x, y }, unit) {
  const lines = Array.from({ length: TICKS + 1 }, (_, i) => {
    const value = (top * i) / TICKS;
    const at = round(y(value));
    return [
      `<path d="M${PLOT.left} ${at}H${PLOT.width - PLOT.right}" stroke="${i === 0 ? '#94a3b8' : '#e2e8f0'}"/>`,
      `<text x="${PLOT.left - 6}" y="${at + 3}" font-size="9" text-anchor="end" fill="#475569">${inUnit(value, unit)}</text>`,
    ];
  });
  const times = Array.from({ length: TICKS + 1 }, (_, i) => {
    const second = from + ((to - from) * i) / TICKS;
    const anchor = i === 0 ? 'start' : i === TICKS ? 'end' : 'middle';
    const at = `x="${round(x(second))}" y="${PLOT.height - PLOT.bottom + 13}"`;
    return `<text ${at} font-size="9" text-anchor="${anchor}" fill="#475569">${minutes(second - from)}</text>`;
  });
  return [...lines.flat(), ...times];
}

const markAt = (x) =>
  `<path d="M${round(x)} ${PLOT.top}V${PLOT.height - PLOT.bottom}" stroke="#94a3b8" stroke-dasharray="2 3"/>`;

function lineOf(points, { x, y }, colour) {
  let pen = 'M';
  const path = points.map(([second, value]) => {
    if (!Number.isFinite(value)) {
      pen = 'M';
      return '';
    }
    const step = `${pen}${round(x(second))} ${round(y(value))}`;
    pen = 'L';
    return step;
  });
  return `<path d="${path.join('')}" fill="none" stroke="${colour}" stroke-width="1.4" stroke-linejoin="round" stroke-linecap="round"/>`;
}

function legend(series) {
  const y = PLOT.height - 10;
  const names = series.slice(0, LEGEND_MAX).map(({ name }) => name);
  if (series.length > LEGEND_MAX) names.push(`and ${series.length - LEGEND_MAX} more`);
  const room = PLOT.width - 20;
  const perName = Math.floor((room / names.length - 14) / LEGEND_CHAR);
  let x = 10;
  return names.flatMap((name, i) => {
    const text = name.length > perName ? `${name.slice(0, Math.max(1, perName - 1))}…` : name;
    const at = x;
    x += 16 + text.length * LEGEND_CHAR;
    const isLine = i < LEGEND_MAX;
    return [
      isLine
        ? `<path d="M${round(at)} ${y - 3}h8" stroke="${COLOURS[i % COLOURS.length]}" stroke-width="2"/>`
        : '',
      `<text x="${round(at + 11)}" y="${y}" font-size="9.5" fill="#334155">${escaped(text)}</text>`,
    ];
  });
}

function minutes(second) {
  const rounded = Math.round(second);
  if (rounded < 600) return `${Math.floor(rounded / 60)}:${String(rounded % 60).padStart(2, '0')}`;
  return `${Math.round(rounded / 60)} min`;
}

function inUnit(value, unit) {
  if (unit === 'percentunit') return `${short(value * 100)} %`;
  if (unit === 'percent') return `${short(value)} %`;
  if (unit === 's') return value > 0 && value < 1 ? `${short(value * 1_000)} ms` : `${short(value)} s`;
  if (unit === 'bytes') return value >= 1e9 ? `${short(value / 1e9)} GB` : `${short(value / 1e6)} MB`;
  if (unit === 'mps' || unit === 'reqps') return `${short(value)} /s`;
  return unit === 'short' || unit === undefined ? short(value) : `${short(value)} ${unit}`;
}

const short = (value) =>
  value >= 1e6 ? `${trim(value / 1e6)} M` : value >= 1e4 ? `${trim(value / 1e3)} k` : String(trim(value));
const least = (values) => values.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
const most = (values) => values.reduce((a, b) => Math.max(a, b), 0);
const trim = (value) => Number(value.toPrecision(3));
const round = (value) => Math.round(value * 10) / 10;
const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');
