import { Readable } from 'node:stream';
import { z } from 'zod';
import type { ContactLists } from '../campaigns/contacts/contact-lists';
import { answer, idParams } from '../contracts/common';
import {
  contactImportBody,
  contactImportQuery,
  contactListBody,
  contactListDetail,
  contactListQuery,
  contactLists,
  contactParams,
  contactQuery,
  contacts,
  importedContacts,
  removed,
  savedContactList,
} from '../contracts/contact-lists';
import { LIMITS } from '../domain/limits';
import { contactRow } from './openapi/contact-row';
import { answered, EXAMPLE, page } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import { generatorOf } from './request/idempotency';
import { regionOf } from './request/phone-country';
import type { App } from './request/routing';
import { parseBody } from './request/validation';
import { seesAddresses } from './request/viewers';
import { admitted } from './request/while-admitted';

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

  app.register(async (scope) => importRoute(scope as unknown as App, contactLists));
  contactRoutes(app, contactLists);
}

/** A scope of its own, because the other paths take no CSV. */
function importRoute(app: App, contactLists: ContactLists): void {
  // The stream itself: it is read as fast as rows can be stored, and never held in memory as a whole.
  app.addContentTypeParser('text/csv', (_request, stream, done) => done(null, stream));

  const importing = { operation: importContacts, params: idParams, querystring: contactImportQuery };
  // Contacts are identified by their content, so that a repeated import creates none twice.
  const checking = { idempotent: true, checksEach: 'contacts' } as const;
  const large = { config: { ...config, ...checking }, bodyLimit: LIMITS.bulkBodyBytes } as const;
  app.post('/api/contact-list/:id/contacts', { ...large, schema: importing }, async (request) => {
    const { body } = request;
    const target = {
      workspaceId: callerOf(request).workspaceId,
      listId: request.params.id,
      country: regionOf(request.query.country),
    };
    await contactLists.require(target);
    if (body instanceof Readable) {
      return answer(200, 'Contacts imported', await contactLists.importCsv(target, admitted(request, body)));
    }
    const rows = parseBody(contactImportBody, body).contacts.map((raw, i) => ({ line: i + 1, raw }));
    return answer(200, 'Contacts imported', await contactLists.importRows(target, rows));
  });
}

function contactRoutes(app: App, contactLists: ContactLists): void {
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

const LIST = { id: EXAMPLE.list, name: 'Customers', createdAt: EXAMPLE.at, updatedAt: EXAMPLE.at };
const ONE = { parameters: { id: EXAMPLE.list } };

const createContactList: Operation = {
  id: 'createContactList',
  access: { role: 'editor', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Create a contact list',
  description:
    'An empty list; contacts come by import. Names need not be unique. With an `Idempotency-Key`, repeating the call makes no second list.',
  body: jsonBody(contactListBody, { customers: { name: 'Customers' } }),
  answers: {
    201: json('Created, and empty.', savedContactList, answered(201, 'Contact list created', LIST)),
  },
};

const listContactLists: Operation = {
  id: 'listContactLists',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Contact lists',
  summary: 'List contact lists',
  description: 'Newest first. `search` finds its term in names.',
  parameters: { page: '1', limit: '20', search: 'custom' },
  answers: {
    200: json('A page of lists.', contactLists, {
      ...answered(200, 'Contact lists', [LIST]),
      pagination: page(1),
    }),
  },
};

const readContactList: Operation = {
  ...ONE,
  id: 'readContactList',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Contact lists',
  summary: 'Read a contact list, with counts',
  description: 'The list with the number of its contacts, counted when you ask.',
  answers: {
    200: json(
      'The list.',
      contactListDetail,
      answered(200, 'Contact list', { ...LIST, counts: { contacts: 2, withEmail: 2, withPhone: 1 } }),
    ),
  },
};

const renameContactList: Operation = {
  ...ONE,
  id: 'renameContactList',
  access: { role: 'editor', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Rename a contact list',
  description: 'Changes the name and nothing else; campaigns refer to a list by its id.',
  body: jsonBody(contactListBody, { customers: { name: 'Customers since 2024' } }),
  answers: {
    200: json(
      'Renamed.',
      savedContactList,
      answered(200, 'Contact list renamed', { ...LIST, name: 'Customers since 2024' }),
    ),
  },
};

const deleteContactList: Operation = {
  ...ONE,
  id: 'deleteContactList',
  access: { role: 'editor', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Delete a contact list',
  description: 'With those of its contacts that are in no other list. Refused while a live campaign uses it.',
  answers: { 200: json('Deleted.', removed, answered(200, 'Contact list deleted', { id: EXAMPLE.list })) },
  errors: ['list_in_use'],
};

const CSV = `externalId,name,email,phone,city
c-1,Ada,ada@example.com,(202) 555-0123,London
c-2,Grace,grace@example.com,,New York
`;

const importContacts: Operation = {
  id: 'importContacts',
  access: { role: 'editor', scopes: ['contacts'] },
  bound: 'imports',
  tag: 'Contact lists',
  summary: 'Import contacts into a list',
  description: `JSON of up to 10,000 contacts, or CSV of any length, which is read as fast as it can be stored. A CSV has a header row; the columns \`externalId\`, \`name\`, \`email\`, \`phone\`, \`timezone\` and \`locale\` are fields, and every other column becomes a param, its name in upper case. Comma, semicolon and tab are told apart.

A contact is known by its \`externalId\`, else its email address, else its phone number; one that is known already takes over what the row gives. Each row is checked alone and is wholly in or wholly out. A phone number must be as long as those of its country are; whether its range is in use is not asked. Importing the same again changes nothing, which is what to do when a connection broke. An \`Idempotency-Key\` is heeded for JSON.`,
  parameters: { id: EXAMPLE.list, country: 'US' },
  body: {
    content: {
      'application/json': {
        schema: contactImportBody,
        shown: z.strictObject({ contacts: z.array(contactRow).max(LIMITS.contactsPerRequest) }),
        examples: {
          contacts: {
            contacts: [
              {
                externalId: 'c-1',
                name: 'Ada',
                email: 'ada@example.com',
                phone: '(202) 555-0123',
                timezone: 'Europe/London',
                params: { CITY: 'London' },
              },
            ],
          },
        },
      },
      'text/csv': { schema: z.string(), examples: { table: CSV } },
    },
  },
  answers: {
    200: json(
      'What became of the rows.',
      importedContacts,
      answered(200, 'Contacts imported', {
        received: 2,
        created: 1,
        updated: 0,
        unchanged: 1,
        rejected: 0,
        errors: [],
      }),
    ),
  },
};

const listContacts: Operation = {
  id: 'listContacts',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Contact lists',
  summary: 'List the contacts of a list',
  description: 'Oldest first. `search` finds its term in names, addresses and external ids.',
  parameters: { id: EXAMPLE.list, limit: '100', search: 'ada' },
  answers: {
    200: json('A page of contacts.', contacts, {
      ...answered(200, 'Contacts', [
        {
          id: EXAMPLE.contact,
          externalId: 'c-1',
          name: 'Ada',
          email: 'ada@example.com',
          phone: '+12025550123',
          timezone: 'Europe/London',
          locale: null,
          params: { CITY: 'London' },
          createdAt: EXAMPLE.at,
          updatedAt: EXAMPLE.at,
        },
      ]),
      next: null,
    }),
  },
};

const removeContact: Operation = {
  id: 'removeContact',
  access: { role: 'editor', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Take a contact out of a list',
  description:
    'A contact that is in no other list is deleted. Its recipients keep its id, by which the person can still be erased.',
  parameters: { id: EXAMPLE.list, contactId: EXAMPLE.contact },
  answers: {
    200: json('Removed.', removed, answered(200, 'Contact removed from the list', { id: EXAMPLE.contact })),
  },
};
