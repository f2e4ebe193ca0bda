import { Readable } from 'node:stream';
import type { ContactExport } from '../campaigns/contacts/contact-export';
import type { Contacts } from '../campaigns/contacts/contacts-api';
import { answer, idParams } from '../contracts/common';
import {
  contactChangeBody,
  contactDetail,
  contactEraseQuery,
  contactExport,
  contactPage,
  contactSearchQuery,
  erasedContact,
} from '../contracts/contacts';
import { fileNameOf } from './campaign-reports';
import { contactRow } from './openapi/contact-row';
import { answered, EXAMPLE } from './openapi/examples';
import { json, jsonBody, type Operation } from './openapi/operation';
import { presentEntry } from './policy';
import { callerOf } from './request/caller';
import type { App } from './request/routing';
import { seesAddresses } from './request/viewers';

const config = { auth: 'app' } as const;

/** A workspace's contacts, whatever lists they are in (api.md 16). */
export function contactRoutes(app: App, { contacts }: { contacts: Contacts }): void {
  const finding = { operation: findContacts, querystring: contactSearchQuery };
  app.get('/api/contact', { config, schema: finding }, async (request) => {
    const page = { ...request.query, hidesAddresses: !seesAddresses(request) };
    const { contacts: found, next } = await contacts.find(callerOf(request).workspaceId, page);
    return { ...answer(200, 'Contacts', found), next };
  });

  const reading = { operation: readContact, params: idParams };
  app.get('/api/contact/:id', { config, schema: reading }, async (request) => {
    const key = { workspaceId: callerOf(request).workspaceId, contactId: request.params.id };
    return answer(200, 'Contact', await contacts.read(key));
  });

  const changing = { operation: changeContact, params: idParams, body: contactChangeBody };
  app.patch('/api/contact/:id', { config, schema: changing }, async (request) => {
    const key = { workspaceId: callerOf(request).workspaceId, contactId: request.params.id };
    return answer(200, 'Contact updated', await contacts.change(key, request.body));
  });

  const erasing = { operation: eraseContact, params: idParams, querystring: contactEraseQuery };
  app.delete('/api/contact/:id', { config, schema: erasing }, async (request, reply) => {
    const key = { workspaceId: callerOf(request).workspaceId, contactId: request.params.id };
    const { contactId } = await contacts.erase(key);
    return reply.code(202).send(answer(202, 'The person is being erased', { id: contactId }));
  });

  const exporting = { operation: exportContact, params: idParams };
  // Without HEAD, because it would read all rows and return none of them.
  app.get(
    '/api/contact/:id/export',
    { config, schema: exporting, exposeHeadRoute: false },
    async (request, reply) => {
      const { id } = request.params;
      const found = await contacts.export({ workspaceId: callerOf(request).workspaceId, contactId: id });
      return reply
        .type('application/json; charset=utf-8')
        .header('content-disposition', `attachment; filename="contact-${fileNameOf(id)}.json"`)
        .send(Readable.from(asJson(found), { objectMode: false }));
    },
  );
}

/** As any other answer, written as its entries and messages are read. */
async function* asJson(found: ContactExport): AsyncGenerator<string> {
  const { contact, lists, audiences, entries, messages } = found;
  const whole = JSON.stringify(
    answer(200, 'All that is known of the contact', { contact, lists, audiences }),
  );
  yield whole.slice(0, -END.length);
  yield ',"entries":';
  yield* arrayOf(entries, presentEntry);
  yield ',"messages":';
  yield* arrayOf(messages, (message) => message);
  yield END;
}

/** Of the answer, and of its `data`. */
const END = '}}';

async function* arrayOf<Row>(
  pages: AsyncIterable<Row[]>,
  present: (row: Row) => object,
): AsyncGenerator<string> {
  let before = '[';
  for await (const page of pages) {
    yield before + page.map((row) => JSON.stringify(present(row))).join(',');
    before = ',';
  }
  yield before === '[' ? '[]' : ']';
}

const CONTACT = {
  id: EXAMPLE.contact,
  externalId: 'c-1',
  name: 'Ada',
  email: 'ada@example.com',
  phone: '+12025550123',
  timezone: 'Europe/London',
  locale: 'en-GB',
  params: { CITY: 'London' },
  createdAt: EXAMPLE.at,
  updatedAt: EXAMPLE.at,
};
const ONE = { parameters: { id: EXAMPLE.contact } };

const findContacts: Operation = {
  id: 'findContacts',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Contact lists',
  summary: 'Find contacts of the workspace',
  description:
    'Oldest first, whatever lists they are in. `search` finds an external id, an email address or a phone number, whole or by its beginning; case does not matter, a phone number may be written with spaces, and `%` and `_` are themselves.',
  parameters: { search: 'ada@', limit: '50' },
  answers: {
    200: json('A page of contacts.', contactPage, { ...answered(200, 'Contacts', [CONTACT]), next: null }),
  },
};

const readContact: Operation = {
  ...ONE,
  id: 'readContact',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Contact lists',
  summary: 'Read a contact',
  description:
    'As it is now. Messages of earlier runs went to the addresses that it had when they were frozen.',
  answers: { 200: json('The contact.', contactDetail, answered(200, 'Contact', CONTACT)) },
};

const changeContact: Operation = {
  ...ONE,
  id: 'changeContact',
  access: { role: 'editor', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Change a contact',
  description:
    'A field that is given replaces the one before, `null` clears it, and one that is left out stays; `params` replaces all of them. The result must be what an import would take. It holds for audiences that are frozen from now on. A contact is known by its external id, else its email address, else its phone number: what another contact of the workspace is known by is refused.',
  body: jsonBody(
    contactChangeBody,
    { moved: { timezone: 'Europe/Rome', locale: null, params: { CITY: 'Rome' } } },
    contactRow,
  ),
  answers: { 200: json('Changed.', contactDetail, answered(200, 'Contact updated', CONTACT)) },
  errors: ['contact_exists'],
};

const eraseContact: Operation = {
  parameters: { id: EXAMPLE.contact, erase: 'true' },
  id: 'eraseContact',
  access: { role: 'admin', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Erase a person',
  description:
    'The contact is gone with the answer, and nothing more is sent to its addresses. Within a minute its addresses, name and params are gone everywhere: from recipients, messages, durable sends, calls, events and stored deliveries of webhooks, whose values become null, while states and counts stay. Messages that wait are canceled. Each address gets a suppression that knows it by a hash only, with the reason `erased`. A contact that was deleted with its last list is erased by the `contactId` of its recipients. It cannot be undone. Repeated, it answers the same.',
  answers: {
    202: json(
      'The person is being erased.',
      erasedContact,
      answered(202, 'The person is being erased', { id: EXAMPLE.contact }),
    ),
  },
};

const exportContact: Operation = {
  ...ONE,
  id: 'exportContact',
  access: { role: 'editor', scopes: ['read'] },
  bound: 'streams',
  tag: 'Contact lists',
  summary: 'Export all that is known of a contact',
  description:
    'The contact, its lists, the campaigns that brought it among their own recipients, and every entry of its timeline, newest first: its part in each run with the messages and their events, runs that left it out and why, durable sends, what counts for caps, and blocks of the suppression list. `values` is what was filled in for the person. `messages` are all messages to any address that the contact has or was sent to under, oldest first, also those that no campaign sent. A contact that was deleted with its last list is exported by the `contactId` of its recipients, as long as they keep its address; `contact` is then null. Streamed, however much it is.',
  answers: {
    200: json(
      'All of it.',
      contactExport,
      answered(200, 'All that is known of the contact', {
        contact: CONTACT,
        lists: [{ id: EXAMPLE.list, name: 'Customers', addedAt: EXAMPLE.at }],
        audiences: [],
        entries: [],
        messages: [],
      }),
      { 'content-disposition': 'A name for the file.' },
    ),
  },
};
