import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gridOfPlots } from './plots.mjs';

/**
 * Draws the samples of a soak into docs/images/soak.svg, and keeps them beside it as soak.csv:
 * `npm run bench -- --part soak --out soak.csv`, then `node scripts/soak-plots.mjs soak.csv`. Dotted lines are kills.
 */
const IMAGES = join(fileURLToPath(new URL('..', import.meta.url)), 'docs/images');

const PLOTS = [
  { title: 'Memory of Fanfare', unit: 'MB', columns: { memoryMb: 'resident' } },
  {
    title: 'Memory of the servers',
    unit: 'MB',
    columns: { temporalMb: 'Temporal', postgresMb: 'PostgreSQL' },
  },
  { title: 'Processor, all three', unit: 'percent', columns: { cpuPercent: 'of a core' } },
  { title: 'Connections to the database', unit: 'short', columns: { connections: 'open' } },
  { title: 'Database', unit: 'MB', columns: { databaseMb: 'size' } },
  { title: 'Dead rows', unit: 'short', columns: { deadRows: 'all tables' } },
  { title: 'Hand-overs', unit: 'short', columns: { handOvers: 'since the start' } },
  { title: 'Bytes of database for each hand-over', unit: 'short', columns: { bytes: 'since the start' } },
  { title: 'Failed requests', unit: 'short', columns: { failures: 'since the start' } },
];

const samples = readSamples(process.argv[2]);
const kills = samples.filter(({ memoryMb, cpuPercent }, i) => i > 0 && (memoryMb === 0 || cpuPercent === 0));
const plots = PLOTS.map(({ title, unit, columns }) => ({
  ...{ title, unit },
  series: Object.entries(columns).map(([column, name]) => ({
    name,
    points: samples.map((sample) => [sample.second, valueIn(sample, column)]),
  })),
}));
const title = 'Memory, processor, connections and size of the database during a soak';
writeFileSync(
  join(IMAGES, 'soak.svg'),
  gridOfPlots(plots, { title, marks: kills.map(({ second }) => second) }),
);
copyFileSync(process.argv[2], join(IMAGES, 'soak.csv'));

function readSamples(file) {
  if (!file) throw new Error('Name the CSV that the soak has written');
  const [head, ...lines] = readFileSync(file, 'utf8').trim().split('\n');
  const names = head.split(',');
  const rows = lines.map((line) =>
    Object.fromEntries(line.split(',').map((cell, i) => [names[i], Number(cell)])),
  );
  const [{ databaseMb, handOvers }] = rows;
  return rows.map((row) => {
    const sent = row.handOvers - handOvers;
    return { ...row, bytes: sent > 10_000 ? ((row.databaseMb - databaseMb) * 1e6) / sent : null };
  });
}

/** A process that is away uses nothing that could be read, which is a gap and no zero. */
function valueIn(sample, column) {
  const isAway = ['memoryMb', 'temporalMb', 'cpuPercent'].includes(column) && sample[column] === 0;
  return isAway ? null : sample[column];
}
