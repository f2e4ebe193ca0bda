import type { Kysely } from 'kysely';
import type { Channel } from '../../domain/channel';
import { codeMeaning } from '../../domain/code-meanings';
import { DomainError } from '../../domain/errors';
import { messageWord, readOut } from '../../domain/explanation';
import { parseRecipientId, recipientId } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import type { RecipientState, SkipReason } from '../../domain/recipient';
import { findRun, readCampaign } from '../model/campaign-record';
import type { MessageStories, ToldStories } from '../model/dependencies';
import type { CampaignTables } from '../model/tables';
import type { RecipientView } from '../reports/recipients';
import { findPerson, type Part, type PersonQuery } from './find-person';
import { goesOnByLedger, type NextStep, nextStep } from './next-step';
import { type RecipientFacts, type RecipientRef, readFacts, wasTried } from './recipient-facts';
import { readSkipped } from './skipped';
import { type Step, stepsOf, uidsOf } from './steps';

/** Why a person was sent something by a campaign, or was not, and what comes next (api.md 19). */
export interface Explanation {
  recipient: RecipientView | null;
  skipped?: { channel: Channel; reason: SkipReason; evidence: string };
  summary: string;
  next: NextStep | null;
  steps: Step[];
}

export type PersonExplanation = Explanation & { others: string[] };

/**
 * Explanations come from what is stored: the ledger has its part, and the service that the campaign is sent
 * through supplies the rest over HTTP, if it can. Sending stores nothing for them.
 */
export function createExplanations({
  db,
  stories,
  now = Date.now,
}: {
  db: Kysely<CampaignTables>;
  stories: MessageStories;
  now?: () => number;
}) {
  async function explain(workspaceId: string, campaignId: string, ref: RecipientRef): Promise<Explanation> {
    const facts = await readFacts(db, workspaceId, ref);
    if (!facts) throw noRecipient(campaignId, recipientId(ref));
    const told = await storiesOf(workspaceId, facts);
    const at = now();
    const next = await nextStep(db, facts, told, at);
    const steps = stepsOf(facts, told, at);
    return { recipient: facts.view, summary: summaryOf(facts, { next, steps, told }), next, steps };
  }

  /**
   * Asks the service. For a recipient who waits, its answer says whether it holds the campaign and whether it
   * reports outcomes. A recipient who ended without a message needs no answer.
   */
  async function storiesOf(workspaceId: string, facts: RecipientFacts): Promise<ToldStories> {
    const uids = uidsOf(facts);
    if (goesOnByLedger(facts)) return stories.read(workspaceId, { uids, heldCampaign: facts.run.campaignId });
    if (uids.length === 0) return { kind: 'told', events: true, held: false, stories: [] };
    return stories.read(workspaceId, { uids });
  }

  return {
    /** Throws `not_found` for a recipient that the campaign does not have. */
    async recipient(workspaceId: string, campaignId: string, id: string): Promise<Explanation> {
      const ref = parseRecipientId(id);
      await readCampaign(db, workspaceId, campaignId);
      if (!ref) throw noRecipient(campaignId, id);
      await findRun(db, workspaceId, campaignId, ref.runId);
      return explain(workspaceId, campaignId, ref);
    },

    /** Throws `not_found` for a person whom the campaign neither has nor left out. */
    async person(query: PersonQuery): Promise<PersonExplanation> {
      const { workspaceId, campaignId, runId } = query;
      const { name } = await readCampaign(db, workspaceId, campaignId);
      if (runId !== undefined) await findRun(db, workspaceId, campaignId, runId);
      const [chosen, ...rest] = await findPerson(db, query);
      if (!chosen) {
        throw new DomainError(
          'not_found',
          `Campaign ${campaignId} neither has this person as a recipient nor left them out; ${listsThem(campaignId)}`,
        );
      }
      const others = (await everyPart(db, query, [chosen, ...rest]))
        .filter((part) => part.kind === 'recipient' && !isSame(part, chosen))
        .slice(0, LIMITS.explainedOthers)
        .map((part) => recipientId(part as RecipientRef));
      const explained =
        chosen.kind === 'recipient'
          ? await explain(workspaceId, campaignId, chosen)
          : await explainSkipped(db, workspaceId, { id: campaignId, name }, chosen);
      return { ...explained, others };
    },
  };
}

export type Explanations = ReturnType<typeof createExplanations>;

const noRecipient = (campaignId: string, id: string) =>
  new DomainError(
    'not_found',
    `Campaign ${campaignId} has no recipient ${id}; GET /api/campaign/${campaignId}/recipients lists its recipients`,
  );

const listsThem = (campaignId: string): string =>
  `GET /api/campaign/${campaignId}/recipients lists its recipients, and GET /api/campaign/${campaignId}/skipped those left out`;

async function explainSkipped(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  campaign: { id: string; name: string },
  part: Extract<Part, { kind: 'skipped' }>,
): Promise<Explanation> {
  const { runId, channel, contactId } = part;
  const found = await readSkipped(db, { workspaceId, runId }, { contactId, channel });
  if (!found) {
    throw new DomainError(
      'not_found',
      `Run ${runId} did not leave contact ${contactId} out; ${listsThem(campaign.id)}`,
    );
  }
  const { reason, evidence } = found;
  const what = reason === 'suppressed' ? 'suppressed' : 'skipped';
  const at = await frozenAt(db, workspaceId, { runId, channel });
  const step: Step = { at, what, code: reason, detail: evidence, data: { runId, contactId } };
  return {
    recipient: null,
    skipped: { channel, reason, evidence },
    summary: `The contact got no ${messageWord(channel)} of the campaign “${campaign.name}”. ${evidence}`,
    next: null,
    steps: [step],
  };
}

/** A channel or run that was chosen says what is explained; the person's other parts are named all the same. */
async function everyPart(db: Kysely<CampaignTables>, query: PersonQuery, found: Part[]): Promise<Part[]> {
  const { channel, runId, ...whole } = query;
  return channel === undefined && runId === undefined ? found : findPerson(db, whole);
}

const isSame = (one: Part, other: Part) =>
  one.kind === other.kind &&
  one.runId === other.runId &&
  one.channel === other.channel &&
  (one.kind !== 'recipient' || other.kind !== 'recipient' || one.seq === other.seq);

async function frozenAt(
  db: Kysely<CampaignTables>,
  workspaceId: string,
  { runId, channel }: { runId: string; channel: Channel },
): Promise<Date> {
  const row = await db
    .selectFrom('runs')
    .leftJoin('audience_freezes as f', (join) =>
      join.onRef('f.run_id', '=', 'runs.id').on('f.channel', '=', channel),
    )
    .select(['f.begun_at', 'runs.started_at'])
    .where('runs.id', '=', runId)
    .where('runs.workspace_id', '=', workspaceId)
    .executeTakeFirstOrThrow();
  return row.begun_at ?? row.started_at;
}

/** One or two sentences that a support person can read out. No address is in them. */
function summaryOf(
  facts: RecipientFacts,
  { next, steps, told }: { next: NextStep | null; steps: readonly Step[]; told: ToldStories },
): string {
  const { view, campaignName, run } = facts;
  const subject = `The ${messageWord(view.channel)} of the campaign “${campaignName}”`;
  const sentences = [
    `${subject} ${STATES[view.state](view.channel, wasTried(facts) ? ' again' : '')}${when(facts, steps)}.`,
  ];
  if (view.code !== null && !next) sentences.push(codeMeaning(view.channel, view.code));
  if (view.outcome !== null && !next) sentences.push(`The outcome is: ${view.outcome.replaceAll('_', ' ')}.`);
  if (next) sentences.push(next.detail);
  if (next?.at) sentences.push(`It goes on at ${readOut(next.at)}.`);
  if (run.phase === 'failed' && !next && OPEN.includes(view.state)) {
    sentences.push('The campaign failed, and goes on only when it is resumed.');
  }
  if (told.kind === 'untold' && view.state === 'accepted') {
    sentences.push('What became of it is not told by the service that the campaign is sent through.');
  }
  if (told.kind === 'away') {
    sentences.push('The messaging service did not answer just now; this is what the campaign itself has.');
  }
  return sentences.join(' ');
}

const OPEN: readonly RecipientState[] = ['pending', 'waiting', 'sending', 'accepted'];

const STATES: Record<RecipientState, (channel: Channel, again: '' | ' again') => string> = {
  pending: () => 'has not been sent to this recipient yet',
  waiting: () => 'waits for this recipient',
  sending: (channel) => (channel === 'voice' ? 'is under way' : 'is being sent'),
  accepted: () => 'was taken by the messaging service',
  sent: () => 'was handed over to the carrier',
  delivered: (channel) => (channel === 'voice' ? 'reached the recipient' : 'was delivered'),
  undelivered: () => 'did not reach the recipient',
  failed: () => 'failed',
  rejected: () => 'was refused for good',
  suppressed: (_, again) => `was not sent${again}, because the address is on the suppression list`,
  expired: (_, again) => `was not sent${again} in time`,
  canceled: (_, again) => `was canceled before it was sent${again}`,
  unknown: () => 'may have arrived: its answer was lost, and it is not sent twice',
};

/** When the recipient came to a state that a message reported; a time that is not stored is left out. */
function when({ view, stored }: RecipientFacts, steps: readonly Step[]): string {
  const last = steps.at(-1);
  if (OPEN.includes(view.state) || stored.state !== view.state || !last) return '';
  return ` on ${readOut(last.at)}`;
}
