/**
 * `npm run scale -- --perDay 100000000 --hours 10`: what an installation of that size needs, from figures that were measured
 * (docs/benchmarks.md; where each comes from stands beside it). It multiplies; it does not guess what was not measured.
 */
const MEASURED = {
  /** Bytes of database for a recipient that was sent to and has its receipt, with indexes: 30,000 recipients of emails. */
  bytes: { messages: 2_600, recipients: 827, events: 92 },
  /** Rows written for a recipient until its last receipt: `--part writes --receipts`. */
  rows: 5.26,
  /** Microseconds of CPU for a message to a carrier over HTTP: `--part carrier --of whole`. */
  cpu: { mainThread: 203, otherThreads: 79, postgres: 185 },
  /** Events of Temporal's histories for 1,000 recipients: `--part ratio`. */
  eventsPerThousand: 6.2,
};

const number = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (!(value > 0)) throw new Error(`${name} must be a positive number`);
  return value;
};

const perDay = number('--perDay', 100_000_000);
const hours = number('--hours', 10);
const keptDays = number('--keptDays', 30);

const perSecond = perDay / (hours * 3_600);
const bytesEach = Object.values(MEASURED.bytes).reduce((sum, one) => sum + one, 0);
const { mainThread, otherThreads, postgres } = MEASURED.cpu;
const cores = (us) => (perSecond * us) / 1e6;
const gigabytes = (bytes) => `${Math.round(bytes / 1e9).toLocaleString('en')} GB`;

const lines = [
  ['messages a second', Math.round(perSecond).toLocaleString('en')],
  ['cores for our processes', cores(mainThread + otherThreads).toFixed(1)],
  ['processes at 70 % of a main thread', Math.ceil(cores(mainThread) / 0.7)],
  ['cores for PostgreSQL', cores(postgres).toFixed(1)],
  ['rows written a second', Math.round(perSecond * MEASURED.rows).toLocaleString('en')],
  ['database for a day', gigabytes(perDay * bytesEach)],
  [`database for ${keptDays} days`, gigabytes(perDay * bytesEach * keptDays)],
  ['Temporal’s events a second', Math.round((perSecond * MEASURED.eventsPerThousand) / 1_000)],
];
for (const [what, value] of lines) process.stdout.write(`${what.padEnd(44)}${String(value).padStart(12)}\n`);
