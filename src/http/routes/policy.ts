import type { ContactTimeline, TimelineEntry } from '../../campaigns/contacts/contact-timeline';
import type { Policies } from '../../campaigns/policy/policy';
import { answer, decodeCursor, encodeCursor, idParams, timestamp } from '../../contracts/common';
import { policyBody, policyOf, timelinePosition, timelineQuery } from '../../contracts/policy';
import type { PolicyVersion } from '../../domain/policy';
import { callerOf } from '../caller';
import { readContactTimeline, readPolicy, setPolicy } from '../operations/policy';
import type { App } from '../routing';
import { invalidRequest } from '../validation';

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
      if (cursor !== undefined && !after) {
        throw invalidRequest([
          { path: 'cursor', code: 'invalid_cursor', message: 'This is not a cursor of this list' },
        ]);
      }
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
