import { readFileSync } from 'node:fs';
import type { Backend } from './campaigns';
import type { CarrierLine } from './carrier';
import type { Single } from './singles';
import type { Watched } from './watch';

/** What must be true at the end whatever was done to the installation. Each names what it found. */
export interface Finding {
  invariant: string;
  found: string;
}

/** A takeover that takes longer than this after everything is whole again is a campaign that hangs. */
const RESUME_LIMIT_MS = 60_000;

interface Evidence {
  campaigns: Watched[];
  singles: readonly Single[];
  backend: Backend;
  carrierRecord: string;
  /** For every round of faults, how long after its end it took until somebody more was sent to. */
  resumedMs: number[];
}

export async function checkInvariants({
  campaigns,
  singles,
  backend,
  carrierRecord,
  resumedMs,
}: Evidence): Promise<{ findings: Finding[]; recipients: number; taken: number; unknown: number }> {
  const findings: Finding[] = [];
  const report = (invariant: string, found: string): void => void findings.push({ invariant, found });
  const taken = readTaken(carrierRecord);
  const known = new Set<string>();
  let recipients = 0;
  let unknown = 0;

  for (const { id, reading, wasCanceled } of campaigns) {
    const rows = await backend.recipients(id);
    const end = wasCanceled && reading?.phase === 'canceled' ? 'canceled' : 'completed';
    if (reading?.phase !== end || reading.finishedAt === null) {
      report(
        'every campaign ends',
        `${id} is ${reading?.phase ?? 'not answered for'}: ${reading?.reason ?? ''} ${JSON.stringify(reading?.counts)}`,
      );
      for (const { uid } of rows) known.add(uid);
      continue;
    }
    recipients += rows.length;
    for (const [channel, { total = 0, ...states }] of Object.entries(reading.counts)) {
      const ofChannel = rows.filter((row) => row.channel === channel);
      const counted = tally(ofChannel.map(({ state }) => state));
      const told = Object.fromEntries(Object.entries(states).filter(([, count]) => count > 0));
      if (total !== ofChannel.length || !sameCounts(counted, told)) {
        report('counters equal the ledger', `${id} ${channel}: ${JSON.stringify({ total, told, counted })}`);
      }
    }
    for (const { uid, state, channel } of rows) {
      known.add(uid);
      const { times, senders } = taken.get(uid) ?? { times: 0, senders: [] };
      const others = senders.filter((sender) => !backend.senders(id).includes(sender));
      if (others.length > 0)
        report('nothing crosses workspaces', `${uid} was sent from ${others.join(', ')}`);
      if (state === 'unknown') unknown += 1;
      if (!ENDS.has(state)) report('no recipient is lost', `${uid} is ${state} in a campaign that is ${end}`);
      if (REACHED.has(state) && times === 0) {
        report('the ledger equals the carrier', `${uid} is ${state}, and the carrier never took it`);
      }
      if (REFUSED.has(state) && times > 0) {
        const events = await backend.events(id, uid);
        // One that did not arrive, was put back to be sent again, and was canceled before.
        const wasPutBack = state === 'canceled' && events.some((type) => FAILED.has(type));
        if (!wasPutBack)
          report('the ledger equals the carrier', `${uid} is ${state}, and the carrier took it: ${events}`);
      }
      if (times > 1 && !(await backend.events(id, uid)).includes('unknown')) {
        report('nothing is handed over twice', `${uid} (${channel}, ${state}): ${times} times`);
      }
    }
    const [first] = rows;
    if (first && (await backend.isSeenByOthers(id, first.uid))) {
      report('nothing crosses workspaces', `${first.uid} is seen in another workspace`);
    }
  }
  const singleOf = new Map(singles.map((one) => [one.key, one]));
  const timesOf = new Map<string, number>();
  for (const [uid, { times }] of taken) {
    const single = singleOf.get(keyOf(uid));
    if (!single) continue;
    known.add(uid);
    const all = (timesOf.get(single.key) ?? 0) + times;
    timesOf.set(single.key, all);
    if (all > 1 && !(await single.events(uid)).includes('unknown'))
      report('nothing is handed over twice', `${uid} (${single.state}): ${all} times`);
  }
  for (const { key, state } of singles) {
    const times = timesOf.get(key) ?? 0;
    if (state === 'unknown') unknown += 1;
    if (!ENDS.has(state)) report('no recipient is lost', `${key} is ${state}`);
    if (REACHED.has(state) !== times > 0 && state !== 'unknown' && state !== 'failed')
      report('the ledger equals the carrier', `${key} is ${state}, and the carrier took it ${times} times`);
  }
  const recipientsKnown = new Set([...known].map(recipientOf));
  for (const uid of taken.keys()) {
    if (!known.has(uid) && !recipientsKnown.has(recipientOf(uid)))
      report(
        'the ledger equals the carrier',
        `${uid} was taken, and is of no recipient and no single message`,
      );
  }
  for (const ms of resumedMs) {
    if (ms > RESUME_LIMIT_MS) report('progress resumes within 60 s of healing', `after ${ms} ms`);
  }
  return { findings, recipients, taken: taken.size, unknown };
}

const REACHED = new Set(['sent', 'delivered', 'undelivered']);
/** The stand-in ends calls that are not answered with `busy`. */
const FAILED: ReadonlySet<string> = new Set(['undelivered', 'failed', 'busy']);
const REFUSED = new Set(['rejected', 'canceled', 'suppressed', 'expired']);
export const ENDS: ReadonlySet<string> = new Set([...REACHED, ...REFUSED, 'failed', 'unknown']);

/** A durable send's tries begin with its id. */
const keyOf = (uid: string): string => (uid.startsWith('snd_') ? (uid.split('.')[0] as string) : uid);

/** Without the attempt: the ledger names the message of the last one. */
const recipientOf = (uid: string): string => uid.replace(/\.\d+$/, '');

interface Taken {
  times: number;
  senders: string[];
}

/** How often the carrier took each uid, and in whose name. */
function readTaken(record: string): Map<string, Taken> {
  const taken = new Map<string, Taken>();
  for (const line of readFileSync(record, 'utf8').split('\n').filter(Boolean)) {
    const { uid, from } = JSON.parse(line) as CarrierLine;
    const one = taken.get(uid) ?? { times: 0, senders: [] };
    one.times += 1;
    if (!one.senders.includes(from)) one.senders.push(from);
    taken.set(uid, one);
  }
  return taken;
}

function tally(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

function sameCounts(a: Record<string, number>, b: Record<string, number>): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => a[key] === b[key]);
}
