import { Readable } from 'node:stream';
import type { ContactLists } from '../../campaigns/contacts/contact-lists';
import { answer, idParams } from '../../contracts/common';
import {
  contactImportBody,
  contactImportQuery,
  contactListBody,
  contactListQuery,
  contactParams,
  contactQuery,
} from '../../contracts/contact-lists';
import { LIMITS } from '../../domain/limits';
import { callerOf } from '../caller';
import { generatorOf } from '../idempotency';
import {
  createContactList,
  deleteContactList,
  importContacts,
  listContactLists,
  listContacts,
  readContactList,
  removeContact,
  renameContactList,
} from '../operations/contact-lists';
import { regionOf } from '../phone-country';
import type { App } from '../routing';
import { parseBody } from '../validation';
import { seesAddresses } from '../viewers';

const config = { auth: 'app' } as const;

/** Contact lists and their contacts (api.md 6). */
export function contactListRoutes(app: App, { contactLists }: { contactLists: ContactLists }): void {
  const creating = {
    config: { ...config, idempotent: true },
    schema: { operation: createContactList, body: contactListBody },
  } as const;
  app.post('/api/contact-list', creating, async (request, reply) => {
    const { workspaceId } = callerOf(request);
    const list = await contactLists.create(workspaceId, request.body, generatorOf(request).id('lst'));
    return reply.code(201).send(answer(201, 'Contact list created', list));
  });

  app.get(
    '/api/contact-list',
    { config, schema: { operation: listContactLists, querystring: contactListQuery } },
    async (request) => {
      const { page, limit } = request.query;
      const { lists, total } = await contactLists.list(callerOf(request).workspaceId, request.query);
      return { ...answer(200, 'Contact lists', lists), pagination: { page, limit, total } };
    },
  );

  app.get(
    '/api/contact-list/:id',
    { config, schema: { operation: readContactList, params: idParams } },
    async (request) => {
      const { workspaceId } = callerOf(request);
      return answer(200, 'Contact list', await contactLists.read({ workspaceId, listId: request.params.id }));
    },
  );

  const renaming = { operation: renameContactList, params: idParams, body: contactListBody };
  app.patch('/api/contact-list/:id', { config, schema: renaming }, async (request) => {
    const list = { workspaceId: callerOf(request).workspaceId, listId: request.params.id };
    return answer(200, 'Contact list renamed', await contactLists.rename(list, request.body));
  });

  app.delete(
    '/api/contact-list/:id',
    { config, schema: { operation: deleteContactList, params: idParams } },
    async (request) => {
      const { id } = request.params;
      await contactLists.delete({ workspaceId: callerOf(request).workspaceId, listId: id });
      return answer(200, 'Contact list deleted', { id });
    },
  );

  contactRoutes(app, contactLists);
}

function contactRoutes(app: App, contactLists: ContactLists): void {
  // The stream itself: it is read as fast as rows can be stored, and never held in memory as a whole.
  app.addContentTypeParser('text/csv', (_request, stream, done) => done(null, stream));

  const importing = { operation: importContacts, params: idParams, querystring: contactImportQuery };
  // Contacts are identified by their content, so that a repeated import creates none twice.
  const large = { config: { ...config, idempotent: true }, bodyLimit: LIMITS.bulkBodyBytes } as const;
  app.post('/api/contact-list/:id/contacts', { ...large, schema: importing }, async (request) => {
    const { body } = request;
    const target = {
      workspaceId: callerOf(request).workspaceId,
      listId: request.params.id,
      country: regionOf(request.query.country),
    };
    await contactLists.require(target);
    if (body instanceof Readable) {
      return answer(200, 'Contacts imported', await contactLists.importCsv(target, body));
    }
    const rows = parseBody(contactImportBody, body).contacts.map((raw, i) => ({ line: i + 1, raw }));
    return answer(200, 'Contacts imported', await contactLists.importRows(target, rows));
  });

  const listing = { operation: listContacts, params: idParams, querystring: contactQuery };
  app.get('/api/contact-list/:id/contacts', { config, schema: listing }, async (request) => {
    const list = { workspaceId: callerOf(request).workspaceId, listId: request.params.id };
    await contactLists.require(list);
    const { contacts, next } = await contactLists.contacts(list, {
      ...request.query,
      hidesAddresses: !seesAddresses(request),
    });
    return { ...answer(200, 'Contacts', contacts), next };
  });

  app.delete(
    '/api/contact-list/:id/contacts/:contactId',
    { config, schema: { operation: removeContact, params: contactParams } },
    async (request) => {
      const { id, contactId } = request.params;
      await contactLists.removeContact({ workspaceId: callerOf(request).workspaceId, listId: id }, contactId);
      return answer(200, 'Contact removed from the list', { id: contactId });
    },
  );
}
