import { randomBytes } from 'node:crypto';
import { type Kysely, type Selectable, sql } from 'kysely';
import { LIMITS } from '../domain/limits';
import type { AnsweredBy } from '../domain/voice/answer-detection/detection';
import type { CallDocuments } from '../domain/voice/call-documents';
import { CALL_DEFAULTS } from '../domain/voice/call-options';
import { type CallRecord, callData } from '../domain/voice/call-record';
import { type CallFact, type CallStanding, type Instruction, standingOf } from '../domain/voice/call-script';
import { runnableProgram } from '../domain/voice/parse-voice-xml';
import type { VoiceProgram } from '../domain/voice/program';
import type { HandOver, Receipt } from '../providers/provider';
import type { Begun, CallDesk, CallFacts, CallingAccount } from '../providers/vendor/call-control';
import type { MessagingTables } from './model/tables';

/**
 * Calls at vendors, from before they are requested until some minutes after their end. The vendor's next
 * request may reach any process.
 */
export interface VendorCalls extends CallDesk {
  /**
   * The account by which the call with this token is made; `undefined` for an unknown call, and for one that
   * is forgotten.
   */
  accountOf(token: string): Promise<Pick<Call, 'kind' | 'account_id' | 'provider'> | undefined>;
  /**
   * Returns the next document of the call, by what the carrier's request reports, and the receipts that
   * follow from it.
   */
  next(token: string, step: string, facts: CallFacts): Promise<NextDocument | undefined>;
  /**
   * Returns the next instructions for a carrier that takes commands: those after the end of `step`, or the
   * present ones without it. `undefined` for a call that this provider does not have, or no longer has.
   */
  goOn(provider: string, step: string | undefined, facts: CallFacts): Promise<NextStep | undefined>;
  /** Records what a callback reports about a call of this provider. */
  hear(provider: string, facts: CallFacts): Promise<CallReport>;
  /** Its receipts are stored: the call may be forgotten soon. */
  ended(messageId: string): Promise<void>;
}

export interface NextStep {
  instructions: readonly Instruction[];
  /** What the end of the instructions is called. */
  step: string;
  receipts: Receipt[];
}

export interface NextDocument extends Omit<NextStep, 'step'> {
  /** Where the carrier goes on, below the address of documents. */
  path: string;
}

export interface CallReport {
  receipts: Receipt[];
  isOver: boolean;
  /** What is to become of the call at once, because of who answered. */
  steer?: { hangUp: true } | { path: string } | undefined;
  /** The carrier says who answered a second time, and the call has not gone on since: it may not have been steered. */
  isRepeated?: boolean | undefined;
}

type Call = Selectable<MessagingTables['vendor_calls']>;
type NewFact<Fact = CallFact> = Fact extends CallFact ? Omit<Fact, 'atMs'> : never;

const TOKEN_BYTES = 24;
/** The step before the callee has answered. */
export const FIRST = 'start';
/** The step of a document that is no step's answer: the carrier comes from where it was. */
export const AGAIN = 'again';

interface VendorCallsDeps {
  db: Kysely<MessagingTables>;
  /** Fetches what calls continue with elsewhere. */
  documents: CallDocuments;
}

export function createVendorCalls(deps: VendorCallsDeps): VendorCalls {
  const { db } = deps;
  const slots = new CallSlots(db);

  return {
    begin: (message, account) => slots.inTurn(account, (tx) => beginCall(tx, message, account)),
    async drop(messageId) {
      await db.deleteFrom('vendor_calls').where('message_id', '=', messageId).execute();
    },
    accountOf: (token) => findCall(db, 'token', token),
    async next(token, step, told) {
      const call = await findCall(db, 'token', token);
      if (!call) return undefined;
      const { step: next, ...document } = await advance(deps, call, step, told);
      return { ...document, path: `${token}/${next}` };
    },
    async goOn(provider, step, told) {
      const call =
        told.messageId === undefined ? undefined : await findCall(db, 'message_id', told.messageId);
      return call?.provider === provider ? advance(deps, call, step, told) : undefined;
    },
    async hear(provider, told) {
      const { messageId: id, providerId, end, answeredBy } = told;
      const found = id === undefined ? undefined : await findCall(db, 'message_id', id);
      if (!found || found.provider !== provider)
        return { receipts: lastReceipt(told, undefined), isOver: false };
      const before = standOf(found);
      const isNews = answeredBy !== undefined && !isDetected(found.facts, answeredBy);
      const detected = ({ facts }: Call): NewFact[] =>
        answeredBy === undefined || isDetected(facts, answeredBy) ? [] : [{ kind: 'detected', answeredBy }];
      const call = (await addFacts(db, found, detected)) ?? found;
      const standing = standOf(call);
      const receipts = newReports(before, standing).map((report): Receipt => ({ id, providerId, ...report }));
      if (end) return { receipts: [...receipts, ...lastReceipt(told, call)], isOver: true };
      const latest = call.facts.at(-1);
      const isRepeated = !isNews && latest?.kind === 'detected' && latest.answeredBy === answeredBy;
      const isNow = standing.restarted !== undefined && (isRepeated || (isNews && !before.restarted));
      return { receipts, isOver: false, steer: isNow ? steerTo(call, standing) : undefined, isRepeated };
    },
    async ended(messageId) {
      await db
        .updateTable('vendor_calls')
        .set({ ended_at: sql<Date>`now()` })
        .where('message_id', '=', messageId)
        .where('ended_at', 'is', null)
        .execute();
    },
  };
}

async function advance(
  deps: VendorCallsDeps,
  found: Call,
  step: string | undefined,
  told: CallFacts,
): Promise<NextStep> {
  const before = standOf(found);
  const known = await addFacts(deps.db, found, (call) => {
    const standing = standOf(call);
    return step === undefined || standing.record ? [] : factsFor(call, standing, step, told);
  });
  const { call, standing } = await followed(deps, known ?? found);
  return {
    instructions: standing.record ? [{ do: 'hang_up' }] : standing.instructions,
    step: stepOf(standing),
    receipts: newReports(before, standing).map((report) => ({
      ...{ id: call.message_id, providerId: told.providerId },
      ...report,
    })),
  };
}

async function beginCall(
  db: Kysely<MessagingTables>,
  message: HandOver,
  account: CallingAccount,
): Promise<Begun> {
  const document = message.xml ?? '';
  const program = runnableProgram(document);
  if (!program) return { problem: 'invalid_document' };
  const options = message.voice ?? {};
  const { record } = standingOf(program, options, []);
  if (record) return { problem: record.reason };
  const waitMs = await waitFor(db, message.id, account);
  if (waitMs > 0) return { waitMs };
  const token = randomBytes(TOKEN_BYTES).toString('base64url');
  const fresh = { token, document, options: JSON.stringify(options), facts: '[]', ended_at: null };
  const of = { kind: account.kind, account_id: account.id, provider: account.provider };
  await db
    .insertInto('vendor_calls')
    // The transaction may have begun long before, because it has waited for its turn.
    .values({ message_id: message.id, ...fresh, ...of, created_at: sql<Date>`clock_timestamp()` })
    // A message that was not taken is handed over again, as another call.
    .onConflict((conflict) =>
      conflict
        .column('message_id')
        .doUpdateSet({ ...fresh, ...of, created_at: sql<Date>`clock_timestamp()` }),
    )
    .execute();
  return { path: `${token}/${FIRST}` };
}

/**
 * Calls of an account with a bound are begun one after the other, in all processes together, so that each counts those before.
 * Within a process they wait without holding a connection.
 */
class CallSlots {
  private readonly turns = new Map<string, Promise<unknown>>();

  constructor(private readonly db: Kysely<MessagingTables>) {}

  inTurn<T>(
    { id, callsMax, callsPerSecond }: CallingAccount,
    work: (db: Kysely<MessagingTables>) => Promise<T>,
  ): Promise<T> {
    if (callsMax === undefined && callsPerSecond === undefined) return work(this.db);
    const locked = () =>
      this.db.transaction().execute(async (tx) => {
        await sql`select pg_advisory_xact_lock(hashtextextended(${`calls of ${id}`}, 0))`.execute(tx);
        return work(tx);
      });
    const turn = (this.turns.get(id) ?? Promise.resolve()).then(locked, locked);
    const settled = turn.catch(() => undefined);
    this.turns.set(id, settled);
    void settled.then(() => {
      if (this.turns.get(id) === settled) this.turns.delete(id);
    });
    return turn;
  }
}

/** For how long no call of the account may be made; 0 when one may. */
async function waitFor(
  db: Kysely<MessagingTables>,
  messageId: string,
  account: CallingAccount,
): Promise<number> {
  const { id, callsMax, callsPerSecond } = account;
  if (callsMax !== undefined && (await liveCalls(db, messageId, account)) >= callsMax)
    return LIMITS.callSlotMs;
  if (callsPerSecond === undefined) return 0;
  // Each process keeps to its share of the rate; this holds while the shares change, and for their bursts together.
  const most = Math.max(1, Math.floor(callsPerSecond));
  const windowMs = (most * 1_000) / callsPerSecond;
  const { rows } = await sql<{ wait_ms: number }>`
    select ${windowMs}::float8 - extract(epoch from clock_timestamp() - created_at) * 1000 as wait_ms
    from vendor_calls where account_id = ${id} and message_id <> ${messageId}
    order by created_at desc offset ${most - 1}::int limit 1`.execute(db);
  return Math.ceil(Math.max(0, Number(rows[0]?.wait_ms ?? 0)));
}

/**
 * Calls that are not known to be over. A call without further reports counts as over after the longest time
 * that a call can take.
 */
async function liveCalls(
  db: Kysely<MessagingTables>,
  messageId: string,
  { id }: CallingAccount,
): Promise<number> {
  const { ringTimeoutSeconds, maxSeconds } = CALL_DEFAULTS;
  const { rows } = await sql<{ live: number }>`
    select count(*)::int as live from vendor_calls
    where account_id = ${id} and ended_at is null and message_id <> ${messageId}
      and created_at > now() - interval '1 second' * (
        coalesce((options ->> 'ringTimeoutSeconds')::int, ${ringTimeoutSeconds})
        + coalesce((options ->> 'maxSeconds')::int, ${maxSeconds})
        + ${LIMITS.callSlotGraceSeconds}::int)`.execute(db);
  return rows[0]?.live ?? 0;
}

function findCall(
  db: Kysely<MessagingTables>,
  column: 'token' | 'message_id',
  value: string,
): Promise<Call | undefined> {
  return db
    .selectFrom('vendor_calls')
    .selectAll()
    .where(column, '=', value)
    .where((where) =>
      where.or([
        where('ended_at', 'is', null),
        where('ended_at', '>', sql<Date>`now() - ${LIMITS.endedCallMinutes} * interval '1 minute'`),
      ]),
    )
    .executeTakeFirst();
}

/**
 * Adds what a request says. If another request has added something in between, the call is read again and `factsOf` says
 * what of it is still new, because a key and who answered may come at the same moment, and neither may be lost.
 */
async function addFacts(
  db: Kysely<MessagingTables>,
  found: Call,
  factsOf: (call: Call) => readonly NewFact[],
): Promise<Call | undefined> {
  let call: Call | undefined = found;
  for (let round = 0; call && round < LIMITS.callFactTries; round++) {
    const facts = factsOf(call);
    if (facts.length === 0) return call;
    const atMs = Date.now() - call.created_at.getTime();
    const all = [...call.facts, ...facts.map((fact) => ({ ...fact, atMs }) as CallFact)];
    const changed = await db
      .updateTable('vendor_calls')
      .set({ facts: JSON.stringify(all) })
      .where('message_id', '=', call.message_id)
      .where(sql<number>`jsonb_array_length(facts)`, '=', call.facts.length)
      .returningAll()
      .executeTakeFirst();
    if (changed) return changed;
    call = await findCall(db, 'message_id', call.message_id);
  }
  return call;
}

/** Fetches the documents that the call continues with, until there is something to say. */
async function followed(
  { db, documents }: VendorCallsDeps,
  first: Call,
): Promise<{ call: Call; standing: CallStanding }> {
  let call = first;
  for (let hops = 0; ; hops++) {
    const standing = standOf(call);
    if (!standing.fetch || hops > LIMITS.callDocuments) return { call, standing };
    const { url, method, fields } = standing.fetch;
    const answer = await documents.fetch({ url, method, fields: { CallSid: call.message_id, ...fields } });
    const fact: NewFact =
      'text' in answer
        ? { kind: 'document', document: answer }
        : { kind: 'document', problem: answer.problem };
    call = (await addFacts(db, call, (now) => (standOf(now).fetch?.url === url ? [fact] : []))) ?? call;
  }
}

const NOTHING: VoiceProgram = { steps: [] };

function standOf({ document, options, facts }: Call, endedAtMs?: number): CallStanding {
  return standingOf(runnableProgram(document) ?? NOTHING, options, facts, endedAtMs);
}

const stepOf = ({ turn, step }: CallStanding): string => `${turn}.${step}`;

/** For a machine there are two reports: that it is a machine, and that its greeting is over. */
const isDetected = (facts: readonly CallFact[], answeredBy: AnsweredBy): boolean =>
  facts.some(
    (fact) =>
      fact.kind === 'detected' && (fact.answeredBy !== 'machine_start' || answeredBy === 'machine_start'),
  );

/** What a request for a document means for a call that stands there. One that was answered before means nothing new. */
function factsFor(call: Call, standing: CallStanding, step: string, told: CallFacts): NewFact[] {
  const isKnown = told.answeredBy !== undefined && isDetected(call.facts, told.answeredBy);
  const detected: NewFact[] =
    told.answeredBy !== undefined && !isKnown ? [{ kind: 'detected', answeredBy: told.answeredBy }] : [];
  if (standing.wants === 'answered') return [{ kind: 'answered' }, ...detected];
  if (step !== stepOf(standing)) return detected;
  switch (standing.wants) {
    case 'digits':
      return [{ kind: 'digits', digits: told.digits ?? '' }, ...detected];
    case 'recorded':
      return [{ kind: 'recorded', recording: told.recording }, ...detected];
    case 'passed':
      return [{ kind: 'passed' }, ...detected];
    default:
      return detected;
  }
}

function newReports(before: CallStanding, after: CallStanding) {
  const known = new Set(before.reports.map((report) => JSON.stringify(report)));
  return after.reports.filter((report) => !known.has(JSON.stringify(report)));
}

function steerTo({ token }: Call, standing: CallStanding): CallReport['steer'] {
  // No step's answer: the carrier comes from where it was.
  return standing.restarted === 'hang_up' ? { hangUp: true } : { path: `${token}/${AGAIN}` };
}

/** The end as the carrier reports it, with what is stored about the call. */
function lastReceipt(told: CallFacts, call: Call | undefined): Receipt[] {
  const { messageId: id, providerId, answeredBy } = told;
  if (!told.end) return [];
  const isAnswered = call?.facts.some(({ kind }) => kind === 'answered') ?? false;
  const { onlyIfAnswered, ...said } = told.end;
  const end: typeof said =
    onlyIfAnswered && call && !isAnswered ? { type: 'no_answer', code: 'ring_timeout', at: said.at } : said;
  // A campaign that was paused calls again, because the recipient was not reached and no attempt was spent.
  if (end.type === 'canceled' && call?.withdrawn === 'hold') {
    return [{ id, providerId, type: 'failed', code: 'withdrawn', at: end.at }];
  }
  if (end.type !== 'completed') return [{ id, providerId, ...end }];
  const record: CallRecord | undefined =
    call && isAnswered ? standOf(call, Date.now() - call.created_at.getTime()).record : undefined;
  if (!record)
    return [{ id, providerId, ...end, data: { answeredBy: answeredBy ?? 'unknown', ...end.data } }];
  return [
    {
      ...{ id, providerId, type: record.end, code: record.code ?? end.code, at: end.at },
      // The carrier's own measure of what it bills.
      data: { ...callData(record), ...end.data },
    },
  ];
}
