import type { Stops } from '../campaigns/stops/stops';
import { answer } from '../contracts/common';
import {
  messageKey,
  messageList,
  messages,
  stories,
  storyQuery,
  trackedMessage,
} from '../contracts/messages';
import type { Delivery } from '../messaging/delivery';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

/** Following and canceling messages (api.md 4, Tracking). */
export function messageRoutes(
  delivery: Pick<Delivery, 'track' | 'stories' | 'list' | 'cancel'>,
  stops: Pick<Stops, 'read'>,
): (app: App) => void {
  const config = { auth: 'send' } as const;

  return (app) => {
    app.get(
      '/messages',
      { config, schema: { operation: listMessages, querystring: messageList } },
      async (request) => {
        const { workspaceId } = callerOf(request);
        const { messages, next } = await delivery.list(workspaceId, request.query);
        return { ...answer(200, 'Messages', messages), next, stopped: await stops.read(workspaceId) };
      },
    );

    const telling = { operation: readStories, querystring: storyQuery };
    app.get('/stories', { config, schema: telling }, async (request) =>
      answer(200, 'Stories', await delivery.stories(callerOf(request).workspaceId, request.query.uids)),
    );

    const one = { params: messageKey };
    app.get('/messages/:uid', { config, schema: { operation: trackMessage, ...one } }, async (request) => {
      const { workspaceId } = callerOf(request);
      const found = await delivery.track(workspaceId, request.params.uid);
      return answer(200, 'Message', { ...found, stopped: await stops.read(workspaceId) });
    });

    app.delete(
      '/messages/:uid',
      { config, schema: { operation: cancelMessage, ...one } },
      async (request) => {
        const { workspaceId } = callerOf(request);
        const canceled = await delivery.cancel(workspaceId, request.params.uid);
        return answer(200, 'Message canceled', { ...canceled, stopped: await stops.read(workspaceId) });
      },
    );
  };
}

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
export const CANCELED = { ...EVENT, seq: 2, type: 'canceled' as const, state: 'canceled' as const };

const listMessages: Operation = {
  id: 'listMessages',
  access: { scopes: ['read'] },
  tag: 'Messages',
  summary: 'List messages',
  description:
    'Newest first. `from` and `to` bound the time of acceptance if they are times, and are addresses otherwise; an email address in `to` is compared without letter case. A page may hold fewer messages than `limit`, even none, while `next` is not null: then many messages were looked at, and few of them are what was asked for. The end is where `next` is null.',
  parameters: { channel: 'sms', state: 'accepted', campaign: 'spring-sale', limit: '20' },
  answers: {
    200: json('A page of messages.', messages, {
      ...answered(200, 'Messages', [RECORD]),
      next: null,
      stopped: null,
    }),
  },
};

const trackMessage: Operation = {
  id: 'trackMessage',
  access: { scopes: ['read'] },
  bound: 'sending',
  tag: 'Messages',
  summary: 'Follow a message',
  description: `The record, with its events in order. States go

\`scheduled → accepted → sending → sent → delivered\`

and end in \`delivered\`, \`undelivered\`, \`failed\`, \`expired\`, \`rejected\`, \`suppressed\`, \`canceled\` or \`unknown\`. They only ever move forward: a report that comes late is kept among the events, and the state stays. \`unknown\` means that a provider was given the message and its answer was lost; it is never sent again by itself, and a later report settles it. A call has events of its own (\`ringing\`, \`answered\`, \`human\`, \`machine\`, \`digits\`, …), with what was found out in \`data\`.`,
  parameters: { uid: RECORD.uid },
  answers: {
    200: json(
      'The message.',
      trackedMessage,
      answered(200, 'Message', { ...RECORD, events: [EVENT], stopped: null }),
    ),
  },
};

const readStories: Operation = {
  id: 'readStories',
  access: { scopes: ['read'] },
  bound: 'sending',
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

const cancelMessage: Operation = {
  id: 'cancelMessage',
  access: { scopes: ['send'] },
  bound: 'sending',
  tag: 'Messages',
  summary: 'Cancel a message',
  description:
    'Possible until the message is handed to a provider; after that it is 409 `not_cancelable`. A message that is being handed over at this moment is 409 too, and is `canceled` after all if the provider gives it back. One whose answer from an idempotent provider was lost is 409, is not tried again, and becomes `unknown`. Repeating it is harmless.',
  parameters: { uid: RECORD.uid },
  answers: {
    200: json(
      'It will not be sent.',
      trackedMessage,
      answered(200, 'Message canceled', {
        ...RECORD,
        state: 'canceled',
        events: [EVENT, CANCELED],
        stopped: null,
      }),
    ),
  },
  errors: ['not_cancelable'],
};
