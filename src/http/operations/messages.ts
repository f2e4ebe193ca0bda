import { events, held, messages, stories, trackedMessage } from '../../contracts/answers/messages';
import { json, type Operation } from '../operation';
import { answered, EXAMPLE } from './examples';

const RECORD = {
  id: EXAMPLE.smsMessage,
  uid: 'order-4711-ready',
  channel: 'sms' as const,
  to: '+12025550123',
  from: '12345',
  'template-id': EXAMPLE.smsTemplate,
  version: 1,
  params: { NAME: 'Ada', TOTAL: 42.5 },
  campaign: 'spring-sale',
  class: 'marketing' as const,
  segments: 1,
  encoding: 'gsm7' as const,
  state: 'accepted' as const,
  attempt: 0,
  createdAt: EXAMPLE.at,
  updatedAt: EXAMPLE.at,
};

const EVENT = {
  seq: 1,
  at: EXAMPLE.at,
  uid: RECORD.uid,
  id: RECORD.id,
  channel: RECORD.channel,
  campaign: RECORD.campaign,
  type: 'accepted' as const,
  state: 'accepted' as const,
};
const CANCELED = { ...EVENT, seq: 2, type: 'canceled' as const, state: 'canceled' as const };

export const listMessages: Operation = {
  id: 'listMessages',
  access: { scopes: ['read'] },
  tag: 'Messages',
  summary: 'List messages',
  description:
    'Newest first. `from` and `to` bound the time of acceptance if they are times, and are addresses otherwise. A page may hold fewer messages than `limit`, even none, while `next` is not null: then many messages were looked at, and few of them are what was asked for. The end is where `next` is null.',
  parameters: { channel: 'sms', state: 'accepted', campaign: 'spring-sale', limit: '20' },
  answers: {
    200: json('A page of messages.', messages, {
      ...answered(200, 'Messages', [RECORD]),
      next: null,
      stopped: null,
    }),
  },
};

export const trackMessage: Operation = {
  id: 'trackMessage',
  access: { scopes: ['read'] },
  tag: 'Messages',
  summary: 'Follow a message',
  description: `The record, with its events in order. States go

\`scheduled → accepted → sending → sent → delivered\`

and end in \`delivered\`, \`undelivered\`, \`failed\`, \`expired\`, \`rejected\`, \`suppressed\`, \`canceled\` or \`unknown\`. They only ever move forward: a report that comes late is kept among the events, and the state stays. \`unknown\` means that a provider was given the message and its answer was lost; it is never sent again by itself, and a later report settles it. A call has events of its own (\`ringing\`, \`answered\`, \`human\`, \`machine\`, \`digits\`, …), with what was found out in \`data\`.`,
  parameters: { uid: RECORD.uid },
  answers: {
    200: json('The message.', trackedMessage, answered(200, 'Message', { ...RECORD, events: [EVENT] })),
  },
};

export const readStories: Operation = {
  id: 'readStories',
  access: { scopes: ['read'] },
  tag: 'Messages',
  summary: 'Explain messages',
  description:
    'What is needed to explain messages to a person: how each was handed over, what became of it, and what it waits for. `waits.why` is `hold`, `schedule`, `account` (the carrier refuses the account; single messages are tried), `retry` (the carrier refused for the moment) or `outbox` (others leave before it, or it is being handed over). A uid that the workspace does not have is left out.',
  parameters: { uids: RECORD.uid },
  answers: {
    200: json('The messages, in no order.', stories, {
      ...answered(200, 'Stories', [
        {
          uid: RECORD.uid,
          channel: RECORD.channel,
          state: RECORD.state,
          templateId: RECORD['template-id'],
          version: 1,
          segments: 1,
          encoding: RECORD.encoding,
          attempt: 0,
          attemptsMax: 8,
          updatedAt: EXAMPLE.at,
          events: [{ at: EXAMPLE.at, type: 'accepted', state: 'accepted' as const }],
          waits: { why: 'hold' as const },
        },
      ]),
    }),
  },
};

export const cancelMessage: Operation = {
  id: 'cancelMessage',
  access: { scopes: ['send'] },
  tag: 'Messages',
  summary: 'Cancel a message',
  description:
    'Possible until the message is handed to a provider; after that it is 409 `not_cancelable`. Repeating it is harmless.',
  parameters: { uid: RECORD.uid },
  answers: {
    200: json(
      'It will not be sent.',
      trackedMessage,
      answered(200, 'Message canceled', { ...RECORD, state: 'canceled', events: [EVENT, CANCELED] }),
    ),
  },
  errors: ['not_cancelable'],
};

export const readEvents: Operation = {
  id: 'readEvents',
  access: { scopes: ['read'] },
  bound: 'streams',
  tag: 'Events',
  summary: 'Read the event feed',
  description: `Every event of the workspace's messages, in one total order. \`next\` is the cursor of what comes after this page: pass it back as \`after\`. Keep it where you keep what you made of the events, and move both together; then none is missed and none is taken twice. Without \`after\` the feed begins at its beginning. \`next\` is never null: when nothing has happened since, \`data\` is empty and \`next\` what you sent. \`wait\` holds an answer that would be empty back for so many seconds, until something happens. A cursor so old that the events after it are deleted is 410 \`cursor_expired\`.`,
  parameters: { after: EXAMPLE.feedCursor, limit: '1000', wait: '0' },
  answers: {
    200: json('Events after the cursor.', events, {
      ...answered(200, 'Events', [CANCELED]),
      next: EXAMPLE.feedCursor,
    }),
  },
  errors: ['cursor_expired'],
};

const HOLD = { parameters: { campaign: 'spring-sale' } };

export const hold: Operation = {
  ...HOLD,
  id: 'holdMessages',
  access: { scopes: ['send'] },
  tag: 'Holds',
  summary: 'Hold messages back',
  description:
    'Within a second no message with this tag in its `campaign` is handed to a provider. Messages go on being accepted and keep their place; those that are with a provider already stay there. Repeating it changes nothing.',
  answers: { 200: json('Held.', held, answered(200, 'Held', { campaign: 'spring-sale', held: true })) },
};

export const release: Operation = {
  ...HOLD,
  id: 'releaseMessages',
  access: { scopes: ['send'] },
  tag: 'Holds',
  summary: 'Let held messages go on',
  description: 'In the order in which they were accepted. Repeating it changes nothing.',
  answers: {
    200: json('Released.', held, answered(200, 'Released', { campaign: 'spring-sale', held: false })),
  },
};
