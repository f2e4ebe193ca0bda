import type { ContactTimeline, TimelineEntry } from '../campaigns/contacts/contact-timeline';
import type { Policies } from '../campaigns/policy/policy';
import { answer, decodeCursor, encodeCursor, idParams, timestamp } from '../contracts/common';
import {
  policyAnswer,
  policyBody,
  policyOf,
  timeline,
  timelinePosition,
  timelineQuery,
} from '../contracts/policy';
import { LIMITS } from '../domain/limits';
import type { PolicyVersion } from '../domain/policy';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { unknownCursor } from './request/validation';

const config = { auth: 'app' } as const;

/** A workspace's policy, and one contact's timeline (api.md 7). */
export function policyRoutes(deps: { policies: Policies; timeline: ContactTimeline }): (app: App) => void {
  const { policies, timeline } = deps;
  return (app) => {
    app.get('/api/policy', { config, schema: { operation: readPolicy } }, async (request) =>
      answer(200, 'Policy', present(await policies.read(callerOf(request).workspaceId))),
    );

    app.put(
      '/api/policy',
      { config, schema: { operation: setPolicy, body: policyBody } },
      async (request) => {
        const set = await policies.replace(callerOf(request).workspaceId, policyOf(request.body));
        return answer(200, 'Policy set', present(set));
      },
    );

    const reading = { operation: readContactTimeline, params: idParams, querystring: timelineQuery };
    app.get('/api/contact/:id/timeline', { config, schema: reading }, async (request) => {
      const { cursor, limit } = request.query;
      const after = cursor === undefined ? undefined : decodeCursor(timelinePosition, cursor);
      if (cursor !== undefined && !after) throw unknownCursor();
      const { workspaceId } = callerOf(request);
      const contact = { workspaceId, contactId: request.params.id };
      const { entries, next } = await timeline.read(contact, { after, limit });
      return {
        ...answer(200, 'Timeline of the contact', entries.map(presentEntry)),
        next: next ? encodeCursor(next) : null,
      };
    });
  };
}

function present({ version, policy, updatedAt }: PolicyVersion) {
  return { ...policy, version, updatedAt: updatedAt && timestamp(updatedAt) };
}

/** An entry as it is answered. */
export function presentEntry({ key: _key, ...entry }: TimelineEntry) {
  return Object.fromEntries(
    Object.entries(entry).map(([name, value]) => [name, value instanceof Date ? timestamp(value) : value]),
  );
}

const POLICY = {
  quietHours: {
    from: '21:00',
    to: '08:00',
    timezone: 'recipient',
    channels: ['sms', 'voice'] as ('sms' | 'voice')[],
    classes: ['marketing'] as 'marketing'[],
  },
  caps: [{ channels: ['voice'] as 'voice'[], max: 2, days: 1 }],
  allowedSenders: null,
  smsOptOutText: { text: 'Reply STOP to opt out', onlyFirst: true },
  approval: null,
  version: 1,
  updatedAt: EXAMPLE.at,
};
const OFF = { quietHours: null, caps: null, allowedSenders: null, smsOptOutText: null, approval: null };

const readPolicy: Operation = {
  id: 'readPolicy',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Policy',
  summary: 'Read the workspace’s policy',
  description: 'Everything is off, and null, until it is set.',
  answers: {
    200: json('In force.', policyAnswer, answered(200, 'Policy', { ...OFF, version: 0, updatedAt: null })),
  },
};

const setPolicy: Operation = {
  id: 'setPolicy',
  access: { role: 'admin', scopes: ['policy'] },
  tag: 'Policy',
  summary: 'Set the workspace’s policy',
  description: `Replaces the whole: what is null or left out is off. It counts within a second for single messages and from the next page on for campaigns that are running.

- \`quietHours\`: nothing is sent on these channels in these hours, beside what a campaign says itself.
- \`caps\`: at most \`max\` marketing messages to an address within the last \`days\` times 24 hours, over all campaigns and durable sends. Who is over a cap waits.
- \`allowedSenders\`: on a channel with a list, other senders are refused. \`@example.com\` is a whole domain.
- \`smsOptOutText\`: ends the first marketing SMS from a sender to a number, or with \`onlyFirst: false\` every one.
- \`approval\`: a campaign with more contacts than \`above\`, on any of \`channels\`, starts when a person who did not create it has approved it.

\`preset: "consumer"\` sets quiet hours from 21:00 to 08:00 by recipients’ clocks for marketing SMS and calls, two calls a day to a number, and a text on opting out.`,
  body: jsonBody(policyBody, {
    preset: { preset: 'consumer' },
    whole: {
      quietHours: { from: '20:00', to: '09:00', timezone: 'Europe/Rome', channels: ['sms'] },
      caps: [{ channels: ['email', 'sms'], max: 3, days: 7 }],
      allowedSenders: {
        email: ['@harbour-books.example', '@example.com'],
        sms: ['12345', '54321'],
        voice: ['+12025550100'],
      },
      smsOptOutText: 'Reply STOP to opt out',
      approval: { above: 10_000, channels: ['sms', 'voice'] },
    },
    off: {},
  }),
  answers: { 200: json('In force.', policyAnswer, answered(200, 'Policy set', POLICY)) },
  errors: ['limit_reached', 'overloaded'],
};

const readContactTimeline: Operation = {
  id: 'readContactTimeline',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Policy',
  summary: 'Why a contact was, or was not, contacted',
  description: `Everything that is known of one contact, newest first, at most ${LIMITS.timelinePageMax} a page: its part in every run with the messages and their events, runs that left it out and why, durable sends to its address, messages that count for caps, and blocks of the suppression list, also those that were lifted since, with what lifted them.`,
  parameters: { id: EXAMPLE.contact, limit: '100' },
  answers: {
    200: json('A page of entries.', timeline, {
      ...answered(200, 'Timeline of the contact', [
        {
          kind: 'recipient' as const,
          at: EXAMPLE.at,
          runId: EXAMPLE.run,
          campaignId: EXAMPLE.campaign,
          campaign: 'Spring',
          channel: 'sms' as const,
          runStartedAt: EXAMPLE.at,
          policyVersion: 1,
          address: '+12025550123',
          state: 'waiting' as const,
          outcome: null,
          code: 'frequency_cap',
          attempts: 0,
          dueAt: EXAMPLE.at,
          retryAt: EXAMPLE.at,
          messages: [],
        },
        {
          kind: 'skipped' as const,
          at: EXAMPLE.at,
          runId: EXAMPLE.run,
          campaignId: EXAMPLE.campaign,
          campaign: 'Spring',
          channel: 'email' as const,
          runStartedAt: EXAMPLE.at,
          policyVersion: 1,
          reason: 'no_address' as const,
        },
        {
          kind: 'suppression_lifted' as const,
          at: EXAMPLE.at,
          channel: 'sms',
          address: '+12025550123',
          sender: '12345',
          reason: 'SMS: STOP',
          source: 'keyword',
          since: EXAMPLE.at,
          liftedBy: 'keyword' as const,
        },
      ]),
      next: null,
    }),
  },
  errors: ['not_found'],
};
