import fc from 'fast-check';
import { type Kysely, sql } from 'kysely';
import { cancelAbsent, cancelUnsent } from '../../../src/campaigns/actions/cancel-run';
import { retryFailed } from '../../../src/campaigns/actions/retry-failed';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { applyEvents, readCursor } from '../../../src/campaigns/outcomes/outcomes';
import { type OpenPage, offerChunk, recordChunk, takePage } from '../../../src/campaigns/runs/ledger';
import { messageUid } from '../../../src/domain/ids';
import type { MessageEvent, MessageState } from '../../../src/domain/message';
import { RECIPIENT_RANK, type RecipientState } from '../../../src/domain/recipient';
import { newId } from '../../../src/storage/new-id';
import { plantAudience } from '../../support/audience';
import { countedStates, outcomesBothWays, wrongCodeCounts } from '../../support/ledger-states';
import { describeWithDatabase } from '../../support/storage';

const PEOPLE = 6;
const ROUNDS = 30;

const RESULTS = ['accepted', 'rejected', 'failed', 'unknown', 'suppressed', 'waiting'] as const;
const EVENTS = ['sent', 'delivered', 'undelivered', 'failed', 'unknown', 'expired', 'canceled'] as const;
const RETRIES = ['failed', 'undelivered', 'unknown'] as const;

const seq = fc.nat(PEOPLE - 1);
/** A page is taken and offered. Killed then, it stays open; the next takes it over. */
const page = fc.record({
  kind: fc.constant('page' as const),
  size: fc.integer({ min: 1, max: PEOPLE }),
  results: fc.array(fc.constantFrom(...RESULTS), { minLength: 1, maxLength: PEOPLE }),
  killed: fc.boolean(),
});
/** In any order, late, twice, of a former attempt or one that is not there; by either workspace's feed. */
const events = fc.record({
  kind: fc.constant('events' as const),
  feed: fc.constantFrom('own' as const, 'own' as const, 'intruder' as const),
  about: fc.array(
    fc.record({ seq, attempt: fc.nat(3), state: fc.constantFrom(...EVENTS), foreign: fc.boolean() }),
    { minLength: 1, maxLength: 8 },
  ),
});
const command = fc.oneof(
  page,
  page,
  events,
  events,
  fc.record({ kind: fc.constant('retry' as const), states: fc.subarray([...RETRIES], { minLength: 1 }) }),
  fc.record({ kind: fc.constant('absent' as const), seqs: fc.uniqueArray(seq, { maxLength: 3 }) }),
  fc.record({ kind: fc.constant('cancel' as const) }),
);
type Command = typeof command extends fc.Arbitrary<infer C> ? C : never;

/** What chance seldom brings together: the second message of a recipient whose first is in doubt never left. */
const IN_DOUBT: readonly Command[] = [
  { kind: 'page', size: 1, results: ['unknown'], killed: false },
  { kind: 'retry', states: ['unknown'] },
];
const about = (attempt: number, state: (typeof EVENTS)[number]): Command => ({
  ...{ kind: 'events', feed: 'own' },
  about: [{ seq: 0, attempt, state, foreign: false }],
});
const EXAMPLES: [Command[]][] = [
  [[...IN_DOUBT, about(1, 'expired'), about(0, 'sent')]],
  [[...IN_DOUBT, about(0, 'sent'), about(1, 'canceled'), about(0, 'delivered')]],
];

interface Recipient {
  state: RecipientState;
  attempt: number;
  doubts: number[];
}

const rises = (from: RecipientState, to: RecipientState) => RECIPIENT_RANK[to] > RECIPIENT_RANK[from];

/** The ledger as a few lines of code, of a campaign that sends nobody anew by itself. */
class Model {
  readonly recipients: Recipient[] = Array.from({ length: PEOPLE }, () => ({
    state: 'pending',
    attempt: 0,
    doubts: [],
  }));

  of(at: number): Recipient {
    return this.recipients[at] as Recipient;
  }

  recorded(at: number, state: RecipientState, isRetry: boolean): void {
    const recipient = this.of(at);
    // What the service took on at the first time needs no row.
    if (state === 'accepted' && !isRetry) return;
    if (!rises(state, recipient.state)) recipient.state = state;
  }

  told(at: number, attempt: number, reported: RecipientState): void {
    const recipient = this.of(at);
    const isLeftInDoubt =
      NEVER_LEFT.includes(reported) && attempt === recipient.attempt && recipient.doubts.length > 0;
    const state = isLeftInDoubt ? 'unknown' : reported;
    if (!rises(recipient.state, state)) return;
    const isGoodNews = state === 'delivered' || (state === 'sent' && recipient.doubts.includes(attempt));
    if (attempt === recipient.attempt || (attempt < recipient.attempt && isGoodNews)) recipient.state = state;
  }

  canceled(open: OpenPage | undefined): void {
    const ofPage = open ? positions(open) : [];
    const offered = new Set(open ? ofPage.slice(open.resolved, open.offered) : []);
    const inPage = new Set(open ? ofPage.slice(open.resolved) : []);
    this.recipients.forEach((recipient, at) => {
      const { state } = recipient;
      if (state !== 'waiting' && !(state === 'pending' && inPage.has(at))) return;
      recipient.state = offered.has(at) ? 'accepted' : withoutAnother(recipient);
    });
  }

  retried(states: readonly RecipientState[]): void {
    for (const recipient of this.recipients) {
      if (!states.includes(recipient.state)) continue;
      if (recipient.state === 'unknown') recipient.doubts.push(recipient.attempt);
      recipient.attempt += 1;
      recipient.state = 'waiting';
    }
  }
}

/** The present message did not leave, so that an earlier one in doubt decides. */
const NEVER_LEFT: readonly RecipientState[] = ['canceled', 'expired'];

/** Of a canceled run: an earlier message that is in doubt may have arrived. */
const withoutAnother = ({ doubts }: Recipient): RecipientState =>
  doubts.length > 0 ? 'unknown' : 'canceled';

const positions = ({ seqs, fromSeq, size }: OpenPage): number[] =>
  seqs ?? Array.from({ length: size }, (_, i) => fromSeq + i);

/** Whatever comes in whatever order, against the ledger and the model side by side. */
describeWithDatabase('the ledger under anything at once', (database) => {
  let db: Kysely<CampaignTables>;
  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
  });

  test('agrees with the model in state and counts, moves up only, and moves no other run’s recipients', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 3, maxLength: 14 }), async (commands) => {
        const [run, other] = [
          await plantAudience(db, { contacts: PEOPLE }),
          await plantAudience(db, { contacts: PEOPLE }),
        ];
        const rig = new Rig(run, other);
        const foreign = await rowsOf(other.runId);
        let before = await rowsOf(run.runId);
        for (const one of commands) {
          await rig.apply(one);
          const now = await rowsOf(run.runId);
          expect([one, now.map(({ state, attempt }) => ({ state, attempt }))]).toEqual([
            one,
            rig.model.recipients.map(({ state, attempt }) => ({ state, attempt })),
          ]);
          expect([one, await countedStates(db, run.runId)]).toEqual([one, tallied(now)]);
          now.forEach(({ state, attempt }, at) => {
            const old = before[at] as (typeof before)[0];
            const isAnew = one.kind === 'retry' && attempt > old.attempt;
            expect([one, isAnew || !rises(state, old.state)]).toEqual([one, true]);
          });
          expect(await rowsOf(other.runId)).toEqual(foreign);
          expect(await countedStates(db, other.runId)).toEqual({});
          for (const { runId } of [run, other])
            expect([one, await wrongCodeCounts(db, runId)]).toEqual([one, []]);
          const { counted, listed } = await outcomesBothWays(db, run.runId);
          expect([one, counted]).toEqual([one, listed]);
          before = now;
        }
      }),
      { numRuns: ROUNDS, examples: EXAMPLES },
    );
  }, 300_000);

  async function rowsOf(runId: string) {
    const { rows } = await sql<{ state: RecipientState; attempt: number; code: string | null }>`
      select state, attempt, code from recipients where run_id = ${runId} order by seq`.execute(db);
    return rows;
  }

  function tallied(rows: readonly { state: RecipientState }[]): Record<string, number> {
    const tally: Record<string, number> = {};
    for (const { state } of rows) if (state !== 'pending') tally[state] = (tally[state] ?? 0) + 1;
    return tally;
  }

  type Planted = Awaited<ReturnType<typeof plantAudience>>;

  class Rig {
    readonly model = new Model();
    private open: OpenPage | undefined;
    private readonly intruder = newId('wsp');

    constructor(
      private readonly run: Planted,
      private readonly other: Planted,
    ) {}

    async apply(one: Command): Promise<void> {
      const { runId, workspaceId, campaignId } = this.run;
      switch (one.kind) {
        case 'page':
          return this.page(one);
        case 'events':
          return this.tell(one.feed === 'own' ? workspaceId : this.intruder, one.about);
        case 'cancel':
          await cancelUnsent(db, runId);
          this.model.canceled(this.open);
          this.open = undefined;
          return;
        case 'absent':
          await cancelAbsent(
            db,
            runId,
            one.seqs.map((at) => ({ channel: 'sms', seq: at })),
          );
          for (const at of one.seqs) {
            const recipient = this.model.of(at);
            if (['pending', 'accepted'].includes(recipient.state))
              recipient.state = withoutAnother(recipient);
          }
          return;
        case 'retry':
          await sql`update runs set phase = 'completed' where id = ${runId}`.execute(db);
          await retryFailed(db, workspaceId, campaignId, { states: one.states });
          this.model.retried(one.states);
          return;
      }
    }

    private async page({ size, results, killed }: Extract<Command, { kind: 'page' }>): Promise<void> {
      const key = { runId: this.run.runId, channel: 'sms' as const, shard: 0, lane: 0 };
      const taking = await takePage(db, key, size);
      if (taking.kind !== 'page') return;
      const offered = await offerChunk(db, taking.page, size);
      this.open = taking.page;
      if (killed) return;
      const recorded = offered.map((recipient, i) => ({
        ...{ seq: recipient.seq, attempt: recipient.attempt, attempted: true },
        state: results[i % results.length] as (typeof RESULTS)[number],
        // Some have none, and others come to have another.
        code: [undefined, 'busy', 'gone'][(i + size) % 3],
        retryAt: new Date(Date.now() - 1_000),
      }));
      await recordChunk(db, taking.page, recorded);
      for (const one of recorded) this.model.recorded(one.seq, one.state, taking.page.seqs !== undefined);
      if (taking.page.resolved === taking.page.size) this.open = undefined;
    }

    private async tell(
      workspaceId: string,
      about: Extract<Command, { kind: 'events' }>['about'],
    ): Promise<void> {
      const feed = about.map((one): MessageEvent => {
        const { runId } = one.foreign ? this.other : this.run;
        return eventOf(messageUid({ runId, channel: 'sms', seq: one.seq }, one.attempt), one.state);
      });
      const cursor = await readCursor(db, workspaceId);
      expect(await applyEvents(db, workspaceId, cursor, `${cursor}x`, feed)).toBeDefined();
      if (workspaceId !== this.run.workspaceId) return;
      // Former attempts first, and of each attempt what ranks highest.
      const own = about.filter(({ foreign }) => !foreign);
      own.sort((a, b) => a.attempt - b.attempt || RECIPIENT_RANK[b.state] - RECIPIENT_RANK[a.state]);
      const best = new Map<string, (typeof own)[0]>();
      for (const one of own) {
        const id = `${one.seq}.${one.attempt}`;
        if (!best.has(id)) best.set(id, one);
      }
      for (const one of best.values()) this.model.told(one.seq, one.attempt, one.state);
    }
  }

  function eventOf(uid: string, state: MessageState): MessageEvent {
    return {
      seq: 1,
      at: new Date().toISOString(),
      uid,
      id: newId('msg'),
      channel: 'sms',
      type: state,
      state,
      ...(uid.length % 2 === 0 || state === 'failed' ? { code: `of_${state}` } : {}),
    };
  }
});
