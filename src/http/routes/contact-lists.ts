import { Readable } from 'node:stream';
import type { Kysely } from 'kysely';
import { type CountryCode, isSupportedCountry } from 'libphonenumber-js/max';
import { type ImportReport, type ImportTarget, importContacts } from '../../campaigns/contact-import';
import { createList, deleteList, getList, listLists, renameList } from '../../campaigns/contact-lists';
import { requireList } from '../../campaigns/contacts';
import { importCsv } from '../../campaigns/csv-import';
import { listMembers, removeMember } from '../../campaigns/list-members';
import type { CampaignTables } from '../../campaigns/tables';
import {
  contactImportBody,
  contactImportQuery,
  contactListBody,
  contactListKey,
  contactListMemberKey,
  contactListQuery,
  contactQuery,
} from '../../contracts/contact-lists';
import { LIMITS } from '../../domain/limits';
import { callerOf } from '../caller';
import { sendData } from '../envelope';
import type { App } from '../routing';
import { invalidRequest, parseBody } from '../validation';

const config = { auth: 'app' } as const;

/** Contact lists and their contacts (api.md 6). */
export function contactListRoutes(app: App, { db }: { db: Kysely<CampaignTables> }): void {
  app.post('/api/contact-list', { config, schema: { body: contactListBody } }, async (request, reply) => {
    const list = await createList(db, callerOf(request).workspaceId, request.body);
    return sendData(reply, 201, 'Contact list created', list);
  });

  app.get(
    '/api/contact-list',
    { config, schema: { querystring: contactListQuery } },
    async (request, reply) => {
      const { page, limit } = request.query;
      const { lists, total } = await listLists(db, callerOf(request).workspaceId, request.query);
      return sendData(reply, 200, 'Contact lists', lists, { pagination: { page, limit, total } });
    },
  );

  app.get('/api/contact-list/:id', { config, schema: { params: contactListKey } }, async (request, reply) => {
    return sendData(
      reply,
      200,
      'Contact list',
      await getList(db, callerOf(request).workspaceId, request.params.id),
    );
  });

  app.patch(
    '/api/contact-list/:id',
    { config, schema: { params: contactListKey, body: contactListBody } },
    async (request, reply) => {
      const list = await renameList(db, callerOf(request).workspaceId, request.params.id, request.body);
      return sendData(reply, 200, 'Contact list renamed', list);
    },
  );

  app.delete(
    '/api/contact-list/:id',
    { config, schema: { params: contactListKey } },
    async (request, reply) => {
      await deleteList(db, callerOf(request).workspaceId, request.params.id);
      return sendData(reply, 200, 'Contact list deleted', { id: request.params.id });
    },
  );

  contactRoutes(app, db);
}

function contactRoutes(app: App, db: Kysely<CampaignTables>): void {
  // The stream itself: it is read as fast as rows can be stored, and never held whole.
  app.addContentTypeParser('text/csv', (_request, stream, done) => done(null, stream));

  app.post(
    '/api/contact-list/:id/contacts',
    {
      config,
      bodyLimit: LIMITS.bulkBodyBytes,
      schema: { params: contactListKey, querystring: contactImportQuery },
    },
    async (request, reply) => {
      const { workspaceId } = callerOf(request);
      const target = { workspaceId, listId: request.params.id, country: countryOf(request.query.country) };
      await requireList(db, target);
      const report = await (isStream(request.body)
        ? importCsv(db, target, request.body)
        : importJson(db, target, request.body));
      return sendData(reply, 200, 'Contacts imported', report);
    },
  );

  app.get(
    '/api/contact-list/:id/contacts',
    { config, schema: { params: contactListKey, querystring: contactQuery } },
    async (request, reply) => {
      const list = { workspaceId: callerOf(request).workspaceId, listId: request.params.id };
      await requireList(db, list);
      const { contacts, next } = await listMembers(db, list, request.query);
      return sendData(reply, 200, 'Contacts', contacts, { next });
    },
  );

  app.delete(
    '/api/contact-list/:id/contacts/:contactId',
    { config, schema: { params: contactListMemberKey } },
    async (request, reply) => {
      const { id, contactId } = request.params;
      const list = { workspaceId: callerOf(request).workspaceId, listId: id };
      await removeMember(db, list, contactId);
      return sendData(reply, 200, 'Contact removed from the list', { id: contactId });
    },
  );
}

const isStream = (body: unknown): body is Readable => body instanceof Readable;

function importJson(db: Kysely<CampaignTables>, target: ImportTarget, body: unknown): Promise<ImportReport> {
  const { contacts } = parseBody(contactImportBody, body);
  return importContacts(
    db,
    target,
    contacts.map((raw, i) => ({ line: i + 1, raw })),
  );
}

function countryOf(code: string | undefined): CountryCode | undefined {
  if (code === undefined || isSupportedCountry(code)) return code;
  throw invalidRequest([
    { path: 'country', code: 'unknown_country', message: 'There is no such country code' },
  ]);
}
