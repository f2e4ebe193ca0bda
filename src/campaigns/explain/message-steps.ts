import { codeMeaning } from '../../domain/code-meanings';
import { ERRORS, type ErrorCode } from '../../domain/errors';
import { messageWord, suppressionSentence } from '../../domain/explanation';
import type { MessageStory, StoryEvent } from '../../domain/message-history';
import type { Step } from './steps';

/** What a service reports about one message, in the order in which it recorded it. */
export function messageSteps(story: MessageStory): Step[] {
  const steps: Step[] = [];
  let isHandedOver = false;
  for (const event of story.events) {
    steps.push(...stepsOf(story, event, isHandedOver));
    isHandedOver ||= isHandOver(event);
  }
  return [...steps, ...plannedRetry(story)];
}

/**
 * Hand-overs are recorded in groups, a moment after they are made, and a carrier’s report has the carrier’s own time:
 * one that is earlier than the record says that the hand-over was made by then.
 */
function handOverAt(story: MessageStory, event: StoryEvent): Date {
  const later = story.events.slice(story.events.indexOf(event)).map(({ at }) => Date.parse(at));
  return new Date(Math.max(Date.parse(story.events[0]?.at ?? event.at), Math.min(...later)));
}

/** States with which the service ends a hand-over; a report with the same word comes after one. */
const HAND_OVERS = ['sent', 'rejected', 'failed', 'unknown'];

const isHandOver = ({ type, code, attempt = 0 }: StoryEvent): boolean =>
  HAND_OVERS.includes(type) && attempt > 0 && !isOwnRefusal(code);

/** The service’s own word about a message that it could not hand over at all, such as a template that is gone. */
function isOwnRefusal(code: string | undefined): boolean {
  if (code === undefined || !Object.hasOwn(ERRORS, code)) return false;
  return ERRORS[code as ErrorCode].status < 500 && !OF_CARRIERS.includes(code);
}

const OF_CARRIERS: readonly string[] = ['provider_rejected', 'provider_throttled', 'attempts_exhausted'];

function stepsOf(story: MessageStory, event: StoryEvent, isHandedOver: boolean): Step[] {
  const { type, code } = event;
  const at = new Date(event.at);
  const about = { uid: story.uid };
  const meant = code === undefined ? '' : ` ${codeMeaning(story.channel, code)}`;
  if (type === 'accepted' || type === 'scheduled') {
    return [{ at, what: 'answered', detail: 'The messaging service took the message.', data: about }];
  }
  if (type === 'suppressed') return [suppressed(story, at)];
  if (type === 'canceled' && !isHandedOver) {
    const detail = 'The message was taken back before it was handed over.';
    return [{ at, what: 'moved', code, detail, data: { ...about, by: 'cancel' } }];
  }
  if (type === 'expired' && !isHandedOver) {
    const detail = 'It was too late to hand the message over.';
    return [{ at, what: 'skipped', code: code ?? 'expired', detail, data: about }];
  }
  if (isHandedOver || !isHandOver(event)) return [refusedOrReported(story, event, isHandedOver)];
  const handedAt = handOverAt(story, event);
  const handed = [rendered(story, handedAt), handedOver(story, event, handedAt)].filter(
    (step) => step !== undefined,
  );
  if (type === 'sent') return handed;
  const last = event.data?.lastCode;
  const detail = `${ANSWERS[type] ?? ''}${meant}`;
  const data = { ...about, ...(typeof last === 'string' ? { lastCode: last } : {}), ...textOf(event) };
  return [...handed, { at, what: 'answered', code, detail, data }];
}

const ANSWERS: Record<string, string> = {
  rejected: 'The carrier refused the message for good.',
  failed: 'The message could not be handed over.',
  unknown: 'No answer came.',
};

const textOf = ({ data }: StoryEvent) =>
  typeof data?.message === 'string' && data.message !== '' ? { message: data.message } : {};

function refusedOrReported(story: MessageStory, event: StoryEvent, isHandedOver: boolean): Step {
  const { type, code, data } = event;
  const at = new Date(event.at);
  const meant = code === undefined ? '' : ` ${codeMeaning(story.channel, code)}`;
  if (!isHandedOver) {
    const detail = `The messaging service could not send the message.${meant}`;
    return { at, what: 'answered', code, detail, data: { uid: story.uid } };
  }
  const detail = `The carrier reported: ${type.replaceAll('_', ' ')}.${meant}`;
  return { at, what: 'receipt', code: code ?? type, detail, data: { uid: story.uid, type, ...(data ?? {}) } };
}

function suppressed({ uid, channel, suppression }: MessageStory, at: Date): Step {
  const detail = suppressionSentence(channel, suppression);
  return { at, what: 'suppressed', detail, data: { uid, ...(suppression ? { entry: suppression } : {}) } };
}

/** The template is rendered when the message is handed over, so that this step has the same time. */
function rendered(story: MessageStory, at: Date): Step | undefined {
  const { uid, templateId, version, segments, encoding } = story;
  if (templateId === undefined) return undefined;
  const length =
    segments === undefined ? '' : `, ${segments} ${segments === 1 ? 'segment' : 'segments'} long`;
  const detail = `The ${messageWord(story.channel)} was made of template ${templateId}${version === undefined ? '' : `, version ${version}`}${length}.`;
  return { at, what: 'rendered', detail, data: { uid, templateId, version, segments, encoding } };
}

function handedOver(story: MessageStory, event: StoryEvent, at: Date): Step {
  const { uid, account, providerId } = story;
  const acceptedAt = story.events.find(({ type }) => type === 'accepted')?.at;
  const milliseconds = acceptedAt === undefined ? undefined : at.getTime() - Date.parse(acceptedAt);
  const took = milliseconds === undefined ? '' : `, ${milliseconds} ms after the service took it`;
  const detail = `The ${messageWord(story.channel)} was handed over${account === undefined ? '' : ` by account ${account}`}${took}.`;
  const isTaken = event.type === 'sent';
  return {
    ...{ at, what: 'handed_over', detail },
    data: {
      uid,
      account,
      providerId: isTaken ? providerId : undefined,
      milliseconds,
      attempt: event.attempt,
    },
  };
}

/** The service retries at a carrier by itself, and stores only the latest of these attempts. */
function plannedRetry({ uid, channel, waits, attempt, attemptsMax, updatedAt }: MessageStory): Step[] {
  if (waits?.why !== 'retry' && !(waits?.why === 'account' && waits.code !== undefined)) return [];
  const { code, why } = waits;
  const meant = code === undefined ? '' : ` ${codeMeaning(channel, code)}`;
  const detail = `The carrier did not take the message yet.${meant} The messaging service tries again.`;
  const next = { attempt: attempt + 1, of: attemptsMax, at: waits.at };
  return [
    { at: new Date(updatedAt), what: 'retry_planned', code, detail, data: { uid, rule: why, ...next } },
  ];
}
