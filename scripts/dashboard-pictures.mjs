import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gridOfPlots } from './plots.mjs';

/**
 * Draws the panels of docker/monitoring/dashboard.json into docs/images/dashboard.svg, from a Prometheus that scrapes a
 * running Fanfare: `node scripts/dashboard-pictures.mjs http://127.0.0.1:9090 [minutes]`. Grafana is not needed; what
 * Grafana fills in is filled in here. Names the panels without samples.
 */
const ROOT = fileURLToPath(new URL('..', import.meta.url));
const OUT = join(ROOT, 'docs/images/dashboard.svg');
const POINTS = 180;
const RATE_INTERVAL = '1m';
const [base, given = '30'] = process.argv.slice(2);

const { panels } = JSON.parse(readFileSync(join(ROOT, 'docker/monitoring/dashboard.json'), 'utf8'));
const to = Math.floor(Date.now() / 1_000);
const from = to - Number(given) * 60;
const plots = [];
for (const panel of panels) {
  const series = [];
  for (const target of panel.targets) series.push(...(await seriesOf(target)));
  plots.push({ title: panel.title, unit: panel.fieldConfig?.defaults?.unit, series });
}
writeFileSync(OUT, gridOfPlots(plots, { title: 'The panels of the dashboard' }));
const empty = plots.filter(({ series }) => series.length === 0).map((plot) => plot.title);
process.stdout.write(
  `${plots.length} panels, ${empty.length} without samples${empty.map((one) => `\n  ${one}`).join('')}\n`,
);

async function seriesOf({ expr, legendFormat }) {
  const query = new URLSearchParams({
    query: expr.replaceAll('$__rate_interval', RATE_INTERVAL),
    start: String(from),
    end: String(to),
    step: String(Math.ceil((to - from) / POINTS)),
  });
  const answer = await fetch(`${base}/api/v1/query_range?${query}`);
  const { status, data, error } = await answer.json();
  if (status !== 'success') throw new Error(`${expr}: ${error}`);
  return data.result.map(({ metric, values }) => ({
    name: legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => metric[label] ?? ''),
    points: values.map(([at, value]) => [at, Number(value)]),
  }));
}
