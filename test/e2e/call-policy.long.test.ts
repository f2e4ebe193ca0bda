import { campaignDetail } from '../support/api-client';
import { type CallCarrier, drawOf, installWithCallCarrier, type Script } from '../support/call-carrier';
import type { Installation } from '../support/installation';
import { until } from '../support/until';
import { CALLER_ID, createVoiceCampaign } from '../support/voice-campaign';

const LIVE_MAX = 40;
const RATE = 120;
/** Two campaigns share a caller id. */
const PEOPLE = [300, 150];
const CLOSED = 20;
const FAULT_SECONDS = 1;
const HOUR_MS = 3_600_000;

/** What happens at one call: a word of the model, with what the carrier tells. */
const FATES: [number, string, Omit<Script, 'lastsMs'>][] = [
  [0.3, 'human', completed({ answeredBy: 'human' })],
  [0.05, 'opted_out', completed({ answeredBy: 'human', outcome: 'opted_out', digits: '9' })],
  [0.08, 'machine', completed({ answeredBy: 'machine_start' })],
  [0.05, 'voicemail_left', completed({ answeredBy: 'machine_end_beep' })],
  [0.18, 'busy', { end: { type: 'busy', code: '486' } }],
  [0.15, 'no_answer', { end: { type: 'no_answer', code: '480' }, way: ['ringing'] }],
  [0.03, 'rejected', { end: { type: 'rejected', code: '603' } }],
  [0.02, 'unwanted', { end: { type: 'rejected', code: '607' } }],
  [0.06, 'failed', { end: { type: 'failed', code: '488' } }],
  [0.05, 'fault', { end: { type: 'failed', code: 'sip_503' } }],
  [0.02, 'number', { end: { type: 'failed', code: '404' } }],
  [0.004, 'silent', {}],
];

function completed(data: Record<string, unknown>): Omit<Script, 'lastsMs'> {
  return { end: { type: 'completed', data }, way: ['answered', 'ringing'] };
}

function fateOf(to: string, attempt: number): [number, string, Omit<Script, 'lastsMs'>] {
  let draw = drawOf(`${to} ${attempt}`);
  for (const fate of FATES) {
    draw -= fate[0];
    if (draw < 0) return fate;
  }
  return FATES[0] as (typeof FATES)[number];
}

const POLICY = {
  retry: {
    busy: { maxAttempts: 3, delaysSeconds: [1, 2] },
    no_answer: { maxAttempts: 2, delaysSeconds: [2] },
    machine: { maxAttempts: 2, delaysSeconds: [2], jitter: 0.5 },
    failed: { maxAttempts: 3, delaysSeconds: [1] },
  },
  maxAttempts: 4,
  machine: 'leave_message',
  ringTimeoutSeconds: 5,
};

interface Expected {
  /** Calls that reach the carrier, and at least so many seconds, at most so many, before each but the first. */
  gaps: [number, number][];
  state: string;
  outcome: string;
}

/**
 * The policy of this campaign, worked out by hand for it alone: one number's calls from what the carrier will do
 * with them.
 */
function modelOf(to: string): Expected {
  const tally = { busy: 0, no_answer: 0, machine: 0, failed: 0 };
  const gaps: [number, number][] = [];
  let counted = 0;
  let faults = 0;
  for (let call = 1; ; call++) {
    const word = fateOf(to, call)[1];
    const end = (state: string, outcome = word): Expected => ({ gaps, state, outcome });
    if (word === 'fault') {
      faults++;
      if (faults === 6) return end('failed', 'failed');
      const wait = FAULT_SECONDS * ([1, 2, 4, 8, 8][faults - 1] as number);
      gaps.push([wait, wait]);
      continue;
    }
    counted++;
    const more = counted < 4;
    if (word === 'human' || word === 'opted_out' || word === 'voicemail_left') return end('delivered');
    if (word === 'rejected') return end('undelivered');
    if (word === 'unwanted') return end('undelivered', 'rejected');
    if (word === 'number') return end('failed', 'failed');
    if (word === 'silent') return end('unknown', 'unknown');
    if (word === 'busy') {
      tally.busy++;
      if (!more || tally.busy === 3) return end('undelivered');
      gaps.push(tally.busy === 1 ? [1, 1] : [2, 2]);
    } else if (word === 'no_answer') {
      tally.no_answer++;
      if (!more || tally.no_answer === 2) return end('undelivered');
      gaps.push([2, 2]);
    } else if (word === 'machine') {
      tally.machine++;
      if (!more || tally.machine === 2) return end('undelivered');
      gaps.push([2, 3]);
    } else {
      tally.failed++;
      if (!more || tally.failed === 3) return end('failed');
      gaps.push([1, 1]);
    }
  }
}

interface Recipient {
  address: string;
  state: string;
  outcome: string | null;
  attempts: number;
  calls: { attempt: number; outcome: string | null }[];
}

describe('two campaigns of calls from one caller id, through a carrier outside', () => {
  let here: Installation;
  let carrier: CallCarrier;
  const startedAt = Date.now();

  beforeAll(async () => {
    ({ here, carrier } = await installWithCallCarrier(
      {
        FANFARE_VOICE_HTTP_IDEMPOTENT: 'true',
        FANFARE_CALL_FAULT_SECONDS: String(FAULT_SECONDS),
        FANFARE_CALL_SILENCE_SECONDS: '5',
      },
      (to, attempt) => {
        const draw = drawOf(`${to} lasts ${attempt}`);
        return { ...fateOf(to, attempt)[2], lastsMs: 30 + draw * 200, early: draw < 0.05 };
      },
    ));
  }, 120_000);

  afterAll(async () => {
    await here?.remove();
    await carrier?.close();
  });

  const numberOf = (campaign: number, i: number) => `+1202${2_000_000 + campaign * 10_000 + i}`;
  const closedNumber = (i: number) => `+1202${3_000_000 + i}`;

  async function recipientsOf(id: string): Promise<Recipient[]> {
    const all: Recipient[] = [];
    for (let cursor = ''; ; ) {
      const page = await here.api.expect<{ data: Recipient[]; next: string | null }>(
        'GET',
        `/api/campaign/${id}/recipients?limit=1000${cursor}`,
      );
      all.push(...page.data);
      if (!page.next) return all;
      cursor = `&cursor=${encodeURIComponent(page.next)}`;
    }
  }

  const callsTo = (to: string) => carrier.calls.filter((call) => call.to === to);

  test('makes each call that the policy wants, when it wants it, and no other', async () => {
    await here.api.expect('PUT', '/api/sender-limit', {
      channel: 'voice',
      sender: CALLER_ID,
      rate: RATE,
      concurrentCalls: LIVE_MAX,
    });
    const hour = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16);
    const callWindow = { from: hour(-2 * HOUR_MS), to: hour(2 * HOUR_MS), timezone: 'recipient' };
    const people = PEOPLE.map((count, campaign) =>
      Array.from({ length: count }, (_, i) => ({
        phone: numberOf(campaign, i),
        timezone: 'Africa/Abidjan',
      })),
    );
    const closed = Array.from({ length: CLOSED }, (_, i) => ({
      phone: closedNumber(i),
      timezone: 'Pacific/Fiji',
    }));
    const ids = [
      await createVoiceCampaign(here.api, [...(people[0] as object[]), ...closed], {
        voice: { ...POLICY, callWindow },
      }),
      await createVoiceCampaign(here.api, people[1] as object[], { voice: POLICY }),
    ];

    await until('a good part of the calls', () => carrier.calls.length > 200, 120_000, 50);
    for (const id of ids) await here.api.expect('POST', `/api/campaign/${id}/pause`);
    const pausedAt = Date.now() + 1_000;
    await new Promise((done) => setTimeout(done, 1_500));
    const atPause = carrier.calls.length;
    // Nobody who opted out meanwhile is called again.
    const everybody = people.flat().map(({ phone }) => phone);
    const redialled = everybody.filter((to) => {
      const made = callsTo(to);
      return made.length > 0 && made.length <= modelOf(to).gaps.length && made.every((call) => call.endedAt);
    });
    const optedOut = new Set(redialled.slice(0, 25));
    for (const address of optedOut) {
      await here.api.expect('POST', '/api/suppression', { channel: 'voice', address, reason: 'asked' });
    }
    const callsBefore = new Map([...optedOut].map((to) => [to, callsTo(to).length]));
    expect(optedOut.size).toBeGreaterThan(4);
    expect(carrier.calls.length).toBe(atPause);
    const resumedAt = Date.now();
    for (const id of ids) await here.api.expect('POST', `/api/campaign/${id}/resume`);

    const open = async (id: string) => {
      const {
        pending = 0,
        waiting = 0,
        sending = 0,
      } = (await campaignDetail(here.api, id)).counts.voice ?? {};
      return pending + waiting + sending;
    };
    await until(
      'everybody who may be called',
      async () => (await open(ids[0] as string)) === CLOSED,
      240_000,
      500,
    );
    await until('the second campaign', async () => (await open(ids[1] as string)) === 0, 60_000, 200);
    await here.api.expect('POST', `/api/campaign/${ids[0]}/cancel`);

    expect(carrier.calls.filter((call) => call.startedAt > pausedAt && call.startedAt < resumedAt)).toEqual(
      [],
    );
    for (let i = 0; i < CLOSED; i++) expect(callsTo(closedNumber(i))).toEqual([]);
    expect(Math.max(...carrier.calls.map(({ live }) => live))).toBeLessThanOrEqual(LIVE_MAX);
    expect(new Set(carrier.calls.map(({ uid }) => uid)).size).toBe(carrier.calls.length);

    const recipients = (await Promise.all(ids.map(recipientsOf))).flat();
    const byNumber = new Map(recipients.map((one) => [one.address, one]));
    const lateness: number[] = [];
    const wrong: unknown[] = [];
    for (const to of everybody) {
      const expected = modelOf(to);
      const made = callsTo(to);
      const one = byNumber.get(to) as Recipient;
      if (optedOut.has(to)) {
        if (one.state !== 'suppressed' || made.length !== callsBefore.get(to))
          wrong.push([to, 'opted out', one]);
        continue;
      }
      const faults = made.filter(({ attempt }) => fateOf(to, attempt)[1] === 'fault').length;
      const seen = [made.length, one.state, one.outcome, one.attempts, one.calls.length];
      const wanted = [
        expected.gaps.length + 1,
        expected.state,
        expected.outcome,
        made.length - faults,
        made.length,
      ];
      if (seen.join() !== wanted.join()) wrong.push([to, seen, wanted]);
      expected.gaps.forEach(([least, most], i) => {
        const [before, after] = [made[i], made[i + 1]];
        if (!before?.endedAt || !after) return;
        const gap = (after.startedAt - before.endedAt) / 1_000;
        // Timers here and there tick in milliseconds.
        if (gap < least - 0.005) wrong.push([to, `call ${i + 2} came after ${gap} s and not ${least}`]);
        if (before.endedAt > resumedAt || after.startedAt < pausedAt) lateness.push(gap - most);
      });
    }
    expect(wrong).toEqual([]);
    lateness.sort((a, b) => a - b);
    const median = lateness[Math.floor(lateness.length / 2)] as number;
    const seconds = Math.round((Date.now() - startedAt) / 1_000);
    process.stdout.write(
      `${carrier.calls.length} calls in ${seconds} s; redials late by ${median.toFixed(2)} s (median), ${lateness.at(-1)?.toFixed(2)} s (worst)\n`,
    );
    // How late depends on the machine; that nothing comes before its time does not.
    expect(median).toBeLessThan(60);
    expect(carrier.calls.length).toBeGreaterThan(600);
    expect(perSecond(carrier.calls.map((call) => call.startedAt))).toBeLessThanOrEqual(2 * RATE);
  }, 480_000);
});

/** The most that came within one second. */
function perSecond(times: number[]): number {
  const sorted = [...times].sort((a, b) => a - b);
  let from = 0;
  return Math.max(
    ...sorted.map((time, i) => {
      while ((sorted[from] as number) <= time - 1_000) from++;
      return i - from + 1;
    }),
  );
}
