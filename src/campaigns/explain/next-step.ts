import type { Kysely } from 'kysely';
import { isLive } from '../../domain/campaign';
import { deliveryRule, expiryOf } from '../../domain/delivery-rule';
import { retryClassOf } from '../../domain/errors';
import type { MessageStory } from '../../domain/message-history';
import { FREQUENCY_CAP, OUT_OF_HOURS } from '../../domain/policy';
import { SETTLED } from '../../domain/recipient';
import { type GateReason, LATER_STAGE } from '../../domain/release';
import {
  goesOnAt,
  toldWait,
  WAIT_REASONS,
  type Wait,
  type WaitFacts,
  type WaitWhy,
} from '../../domain/wait-reasons';
import type { ToldStories } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import { readContactStage } from '../release/release-view';
import { readStop } from '../stops/stops';
import type { RecipientFacts } from './recipient-facts';
import { attemptsOf } from './retry-rule';
import { capWait, fallbackWait, hoursWait, laterOf, localHourWait, paceWait, scheduleWait } from './waits';

/** What comes next for a recipient: why it waits, and when it goes on where that is known. */
export interface NextStep {
  at?: Date;
  why: WaitWhy;
  detail: string;
}

/** Null when nothing is next: the recipient has an end, or the run will not go on by itself. */
export async function nextStep(
  db: Kysely<CampaignTables>,
  facts: RecipientFacts,
  told: ToldStories,
  now: number,
): Promise<NextStep | null> {
  const waits = await waitsOf(db, facts, told, now);
  const wait = toldWait(waits);
  if (!wait) return null;
  const at = goesOnAt(waits);
  const { sentence } = WAIT_REASONS[wait.why] as { sentence(facts: WaitFacts): string };
  // The time to expire begins with a recipient's stage.
  const isLate =
    at !== undefined &&
    facts.view.code !== LATER_STAGE &&
    at.getTime() > expiryOf(deliveryRule(facts.run.options), facts.stored.dueAt);
  // A page or a call finds out that a recipient is late when it is due, and ends it then.
  const ends = isLate && facts.view.dueAt.getTime() > now ? facts.view.dueAt : at;
  return {
    ...(ends ? { at: ends } : {}),
    why: wait.why,
    detail: `${sentence(wait)}${isLate ? ' By then it is too late for this recipient, who ends as expired.' : ''}`,
  };
}

async function waitsOf(
  db: Kysely<CampaignTables>,
  facts: RecipientFacts,
  told: ToldStories,
  now: number,
): Promise<Wait[]> {
  if (facts.view.state === 'sent') return [{ why: 'outcome' }];
  if (!goesOn(facts)) return [];
  return isWithService(facts) ? serviceWaits(db, facts, told, now) : ledgerWaits(db, facts, told, now);
}

/** Neither the recipient nor its run has ended, and no message of it is with a carrier. */
const goesOn = ({ view, run }: RecipientFacts): boolean =>
  view.state !== 'sent' &&
  !SETTLED.includes(view.state) &&
  isLive(run.phase) &&
  run.control !== 'cancel' &&
  run.control !== 'fail';

const isWithService = ({ view, stored }: RecipientFacts): boolean =>
  view.state === 'accepted' || (view.channel === 'voice' && stored.state === 'sending');

/** Until the service has the message, the ledger knows what comes next. */
export const goesOnByLedger = (facts: RecipientFacts): boolean => goesOn(facts) && !isWithService(facts);

/** The service has the message. If it reports no more than that, this is the end. */
async function serviceWaits(
  db: Kysely<CampaignTables>,
  facts: RecipientFacts,
  told: ToldStories,
  now: number,
): Promise<Wait[]> {
  if (!told.events) return [];
  const story = told.stories.find(({ uid }) => uid === facts.view.uid);
  if (story && story.waits === null) return [{ why: 'outcome' }];
  // The service does not have a call whose answer was lost: it is asked for again once its hours are open.
  const isAskedAgain = !story && told.kind === 'told' && facts.view.channel === 'voice';
  const hours = isAskedAgain ? hoursWait(facts, now) : [];
  return [...(await heldBack(db, facts)), ...(hours.length > 0 ? hours : [storyWait(story)])];
}

function storyWait(story: MessageStory | undefined): Wait {
  const waits = story?.waits;
  if (!story || !waits) return { why: 'outbox' };
  const at = waits.at === undefined ? undefined : new Date(waits.at);
  if (waits.why !== 'retry') return { why: waits.why, at, code: waits.code };
  return { why: 'retry', at, code: waits.code, attempt: story.attempt + 1, of: story.attemptsMax };
}

/** The ledger has the recipient: it waits for its hour, its turn, or the next attempt. */
async function ledgerWaits(
  db: Kysely<CampaignTables>,
  facts: RecipientFacts,
  told: ToldStories,
  now: number,
): Promise<Wait[]> {
  const held = await heldBack(db, facts);
  if (told.held) held.push({ why: 'hold' });
  const waits: Wait[] = [];
  const { view, stored } = facts;
  if (view.state === 'waiting') {
    if (view.code === LATER_STAGE) return [...held, ...(await afterStage(db, facts, held, told.events))];
    if (stored.retryAt === null) waits.push(await fallbackWait(db, facts, told.events));
    else if (stored.retryAt.getTime() > now) waits.push(ownWait(facts, stored.retryAt));
  }
  if (view.state === 'pending') waits.push(...scheduleWait(facts, now));
  // Each of these is evaluated for the time at which the recipient reaches it, as a page does.
  waits.push(...hoursWait(facts, laterOf(waits, now)));
  waits.push(...(await capWait(db, facts, laterOf(waits, now))));
  if (view.state !== 'waiting')
    waits.push(...(await paceWait(db, facts, { from: laterOf(waits, now), now })));
  if (held.length === 0 && waits.length === 0) waits.push({ why: 'outbox', ahead: 0 });
  return [...held, ...waits];
}

/**
 * What a recipient of a later stage waits for once the stage begins. Its stage is among what holds it back; when it goes
 * on is known where the beginning of its stage is.
 */
async function afterStage(
  db: Kysely<CampaignTables>,
  facts: RecipientFacts,
  held: readonly Wait[],
  tellsMore: boolean,
): Promise<Wait[]> {
  if ((facts.stored.turn ?? 0) > 0) return [await fallbackWait(db, facts, tellsMore)];
  const begins = held.find(({ why }) => why === 'stage')?.at;
  if (!begins) return [];
  const waits = localHourWait(facts, begins.getTime());
  waits.push(...hoursWait(facts, laterOf(waits, begins.getTime())));
  waits.push(...(await capWait(db, facts, laterOf(waits, begins.getTime()))));
  return waits;
}

const MINUTE_MS = 60_000;

/** Why it was put off until its next attempt. */
function ownWait(facts: RecipientFacts, at: Date): Wait {
  const code = facts.view.code ?? undefined;
  if (code === FREQUENCY_CAP) return { why: 'cap', at };
  const before = at.getTime() - MINUTE_MS;
  // A stage gives its recipients their hour, so that one waits for it without an attempt before.
  if (code === undefined && facts.view.attempts === 0) return { why: 'schedule', at };
  const [opening] = [...hoursWait(facts, before), ...localHourWait(facts, before)];
  if (code === OUT_OF_HOURS) return { why: opening?.why ?? 'quiet_hours', at };
  // A redial that was planned for a closed hour is due when the hours open.
  if (opening?.at?.getTime() === at.getTime()) return { why: opening.why, at };
  if (retryClassOf(code) === 'account') return { why: 'account', at, code };
  const outcome = facts.view.outcome ?? undefined;
  return { why: 'retry', at, code: code ?? outcome, outcome, ...attemptsOf(facts) };
}

/** Looks for one reason by which a whole workspace, campaign or stage is held back. */
type Lookup = (db: Kysely<CampaignTables>, facts: RecipientFacts) => Promise<Wait[]>;

/**
 * What holds a recipient back whatever its own hour is, one look-up for each reason. Their sentences and their priority
 * are in domain/wait-reasons.ts.
 */
const LOOKUPS: readonly Lookup[] = [stoppedWorkspace, pausedOrStaged];

async function heldBack(db: Kysely<CampaignTables>, facts: RecipientFacts): Promise<Wait[]> {
  const found = await Promise.all(LOOKUPS.map((lookUp) => lookUp(db, facts)));
  return found.flat();
}

async function stoppedWorkspace(db: Kysely<CampaignTables>, { run }: RecipientFacts): Promise<Wait[]> {
  const stop = await readStop(db, run.workspaceId);
  return stop ? [{ why: 'stopped', reason: stop.reason }] : [];
}

/** A run of a workspace that is stopped is read as paused (runs.ts); the stop is named before the pause. */
async function pausedOrStaged(
  db: Kysely<CampaignTables>,
  { run, view, ownReason }: RecipientFacts,
): Promise<Wait[]> {
  const { workspaceId, runId } = run;
  const stage =
    run.options.release && (await readContactStage(db, { workspaceId, runId, contactId: view.contactId }));
  // A gate that closes pauses its campaign: the gate is named, because the owner did not pause. It may be the gate of an
  // occurrence that goes on beside this one.
  const gate = stage?.gate?.reason ?? (ownReason?.code === 'gate' ? ownReason : undefined);
  const waits: Wait[] = [];
  if (gate) waits.push({ why: 'gate', reason: sentenceOf(gate) });
  else if (run.control === 'pause') {
    waits.push({ why: 'paused', approval: ownReason?.code === 'approval_required' ? ownReason : undefined });
  }
  if (stage && !stage.hasBegun) {
    waits.push({ why: 'stage', at: stage.beginsAt instanceof Date ? stage.beginsAt : undefined });
  }
  return waits;
}

const sentenceOf = ({ metric, value, above }: GateReason): string =>
  `${metric} was ${percent(value)}, above ${percent(above)}`;

const percent = (share: number): string => `${Math.round(share * 1_000) / 10} %`;
