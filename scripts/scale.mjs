/**
 * `npm run scale -- --perDay 100000000 --hours 10`: what an installation of that size needs, from figures that were measured
 * (docs/benchmarks; where each comes from stands beside it). It multiplies; it does not guess what was not measured.
 * Options: `--perDay`, `--hours` (in which they are sent), `--keptDays`, `--callsPerDay` (of them), `--historyDays` (Temporal's).
 */
const MEASURED = {
  /**
   * Bytes of database for a recipient that was sent to and has its receipt, with indexes, at the end of `--part writes
   * --contacts 30000 --receipts`, which sends emails. `messages` has what hangs on them: carriers' ids, groups.
   */
  bytes: { messages: 1_225, recipients: 516, events: 63 },
  /** Rows written for a recipient until its last receipt: `--part writes --receipts`. */
  rows: 6.04,
  /** Microseconds of CPU for a message to a carrier over HTTP: `--part carrier --of whole`. */
  cpu: { mainThread: 143, otherThreads: 27, postgres: 94 },
  /** Accepted, handed over and reported a second in one workspace, whose events have one order: `bench:service`, `bulk`. */
  workspacePerSecond: 11_500,
  /** Temporal's cost of 1,000 recipients of email or SMS: `--part ratio`. */
  temporal: { events: 7.65, bytes: 1_868, transitions: 4.25 },
  /** Temporal's cost of one call that sleeps until its second attempt: `--part sleeping`. */
  call: { events: 17, bytes: 3_484, transitions: 8.2 },
};
/** Of a main thread that a process may use, because beyond it answers wait. */
const BUSY = 0.7;

const number = (name, otherwise) => {
  const at = process.argv.indexOf(name);
  const value = at < 0 ? otherwise : Number(process.argv[at + 1]);
  if (!(value >= 0)) throw new Error(`${name} must be a number that is not negative`);
  return value;
};

const perDay = number('--perDay', 100_000_000);
const hours = number('--hours', 10);
const keptDays = number('--keptDays', 30);
const callsPerDay = number('--callsPerDay', 0);
const historyDays = number('--historyDays', 1);

const seconds = hours * 3_600;
const perSecond = perDay / seconds;
const { bytes, cpu, temporal, call } = MEASURED;
const cores = (us) => (perSecond * us) / 1e6;
const gigabytes = (count) =>
  count < 1e9 ? `${Math.round(count / 1e6)} MB` : `${Math.round(count / 1e9).toLocaleString('en')} GB`;
const days = keptDays === 1 ? 'a day' : `${keptDays} days`;
const ofTemporal = (kind) => ((perDay - callsPerDay) / 1_000) * temporal[kind] + callsPerDay * call[kind];

const lines = [
  ['messages a second', Math.round(perSecond).toLocaleString('en')],
  ['cores for our processes', cores(cpu.mainThread + cpu.otherThreads).toFixed(1)],
  [`processes at ${BUSY * 100} % of a main thread`, Math.ceil(cores(cpu.mainThread) / BUSY)],
  ['workspaces, so that no event log is full', Math.ceil(perSecond / MEASURED.workspacePerSecond)],
  ['cores for PostgreSQL', cores(cpu.postgres).toFixed(1)],
  ['rows written a second', Math.round(perSecond * MEASURED.rows).toLocaleString('en')],
  ...Object.entries(bytes).map(([table, each]) => [
    `${table}: a day, ${days}`,
    `${gigabytes(perDay * each)}, ${gigabytes(perDay * each * keptDays)}`,
  ]),
  ['Temporal: events a second', Math.round(ofTemporal('events') / seconds).toLocaleString('en')],
  [
    'Temporal: changes of state a second',
    Math.round(ofTemporal('transitions') / seconds).toLocaleString('en'),
  ],
  [
    `Temporal: histories of ${historyDays === 1 ? 'a day' : `${historyDays} days`}`,
    gigabytes(ofTemporal('bytes') * historyDays),
  ],
];
for (const [what, value] of lines) process.stdout.write(`${what.padEnd(44)}${String(value).padStart(20)}\n`);
