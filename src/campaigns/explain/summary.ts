import type { Channel } from '../../domain/channel';
import { codeMeaning } from '../../domain/code-meanings';
import { messageWord, readOut } from '../../domain/explanation';
import type { RecipientState } from '../../domain/recipient';
import type { ToldStories } from '../model/dependencies';
import type { NextStep } from './next-step';
import type { RecipientFacts } from './recipient-facts';
import type { Step } from './steps';

/** One or two sentences that a support person can read out. No address is in them. */
export function summaryOf(
  facts: RecipientFacts,
  { next, steps, told }: { next: NextStep | null; steps: readonly Step[]; told: ToldStories },
): string {
  const { view, campaignName, run } = facts;
  const subject = `The ${messageWord(view.channel)} of the campaign “${campaignName}”`;
  const sentences = [`${subject} ${STATES[view.state](view.channel)}${when(facts, steps)}.`];
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

const STATES: Record<RecipientState, (channel: Channel) => string> = {
  pending: () => 'has not been sent to this recipient yet',
  waiting: () => 'waits for this recipient',
  sending: (channel) => (channel === 'voice' ? 'is under way' : 'is being sent'),
  accepted: () => 'was taken by the messaging service',
  sent: () => 'was handed over to the carrier',
  delivered: (channel) => (channel === 'voice' ? 'reached the recipient' : 'was delivered'),
  undelivered: () => 'did not reach the recipient',
  failed: () => 'failed',
  rejected: () => 'was refused for good',
  suppressed: () => 'was not sent, because the address is on the suppression list',
  expired: () => 'was not sent in time',
  canceled: () => 'was canceled before it was sent',
  unknown: () => 'may have arrived: its answer was lost, and it is not sent twice',
};

/** When the recipient came to a state that a message reported; a time that is not stored is left out. */
function when({ view, stored }: RecipientFacts, steps: readonly Step[]): string {
  const last = steps.at(-1);
  if (OPEN.includes(view.state) || stored.state !== view.state || !last) return '';
  return ` on ${readOut(last.at)}`;
}
