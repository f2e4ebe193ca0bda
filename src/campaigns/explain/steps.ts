import type { StepWhat } from '../../domain/explanation';
import { messageUid } from '../../domain/ids';
import { LIMITS } from '../../domain/limits';
import type { MessageStory } from '../../domain/message-history';
import type { ToldStories } from '../model/dependencies';
import { betweenAttempts, ledgerEnd, ledgerRetry } from './ledger-steps';
import { messageSteps } from './message-steps';
import type { RecipientFacts } from './recipient-facts';

/** One thing that happened. `detail` is a sentence that can be read out. */
export interface Step {
  at: Date;
  what: StepWhat;
  code?: string | undefined;
  detail: string;
  data?: Record<string, unknown> | undefined;
}

/** The messages that a recipient has had, the latest of them: calls are numbered from 1, messages from 0. */
export function uidsOf({ key, view, stored }: RecipientFacts): string[] {
  if (view.state === 'pending') return [];
  const first = key.channel === 'voice' ? 1 : 0;
  const from = Math.max(first, stored.attempt - LIMITS.explainedMessages + 1);
  const count = Math.max(0, stored.attempt - from + 1);
  return Array.from({ length: count }, (_, i) => messageUid(key, from + i));
}

/**
 * What happened to a recipient, oldest first, from the ledger and from the service's stories of the messages.
 */
export function stepsOf(facts: RecipientFacts, told: ToldStories, now: number): Step[] {
  const byUid = new Map(told.stories.map((story) => [story.uid, story]));
  const stories = uidsOf(facts).flatMap((uid): MessageStory[] => {
    const story = byUid.get(uid);
    return story ? [story] : [];
  });
  const steps = inOrder([
    [frozen(facts)],
    ...stories.map(messageSteps),
    ...betweenAttempts(facts, stories).map((step) => [step]),
    ...facts.stored.putBack.map((at) => [putBack(at)]),
    ledgerRetry(facts),
    ledgerEnd(facts, stories.at(-1)),
  ]);
  return told.kind === 'untold' ? withLastWord(steps, facts, now) : steps;
}

/** By time. Steps of one source stay in its order, because a carrier’s clock may be behind ours. */
function inOrder(sources: readonly Step[][]): Step[] {
  const timed = sources.flatMap((steps) => {
    let latest = 0;
    return steps.map((step) => {
      latest = Math.max(latest, step.at.getTime());
      return { step, latest };
    });
  });
  return timed.sort((one, other) => one.latest - other.latest).map(({ step }) => step);
}

function frozen({ frozenAt, lists, view, run }: RecipientFacts): Step {
  const names = lists.map(({ name }) => `“${name}”`).join(', ');
  const without = run.ownListId
    ? 'as one of the recipients that came with the campaign'
    : 'by a list that the contact has left since';
  const from = names === '' ? without : `from ${names}`;
  return {
    at: frozenAt,
    what: 'frozen',
    detail: `The audience was frozen, and the contact became a recipient on the ${view.channel} channel, ${from}.`,
    data: { runId: run.runId, contactLists: lists },
  };
}

const putBack = (at: Date): Step => ({
  at,
  what: 'moved',
  detail: 'retry-failed was called, and the recipient was put back to be sent to again.',
  data: { by: 'retry-failed' },
});

const NO_MORE = 'The service that the campaign is sent through tells no more than that.';

/**
 * A service without stories has given at most its answer, which the last step says. When it took a message is not
 * written down for each recipient: by the end of the run, or by now, it had.
 */
function withLastWord(steps: Step[], { view, stored, finishedAt }: RecipientFacts, now: number): Step[] {
  if (view.state === 'accepted') {
    const at = stored.state === 'accepted' ? view.updatedAt : (finishedAt ?? new Date(now));
    const detail = `By this time the messaging service had taken the message. ${NO_MORE}`;
    return [...steps, { at, what: 'answered', detail, data: { uid: view.uid } }];
  }
  const last = steps.at(-1);
  if (!last || last.what === 'frozen') return steps;
  return [...steps.slice(0, -1), { ...last, detail: `${last.detail} ${NO_MORE}` }];
}
