import { z } from 'zod';
import {
  contactListDetail,
  contactLists,
  contacts,
  importedContacts,
  removed,
  savedContactList,
} from '../../contracts/answers/contact-lists';
import { contactImportBody, contactListBody } from '../../contracts/contact-lists';
import { LIMITS } from '../../domain/limits';
import { json, jsonBody, type Operation } from '../operation';
import { contactRow } from './contact-row';
import { answered, EXAMPLE, page } from './examples';

const LIST = { id: EXAMPLE.list, name: 'Customers', createdAt: EXAMPLE.at, updatedAt: EXAMPLE.at };
const ONE = { parameters: { id: EXAMPLE.list } };

export const createContactList: Operation = {
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

export const listContactLists: Operation = {
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

export const readContactList: Operation = {
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

export const renameContactList: Operation = {
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

export const deleteContactList: Operation = {
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

export const importContacts: Operation = {
  id: 'importContacts',
  access: { role: 'editor', scopes: ['contacts'] },
  bound: 'imports',
  tag: 'Contact lists',
  summary: 'Import contacts into a list',
  description: `JSON of up to 10,000 contacts, or CSV of any length, which is read as fast as it can be stored. A CSV has a header row; the columns \`externalId\`, \`name\`, \`email\`, \`phone\`, \`timezone\` and \`locale\` are fields, and every other column becomes a param, its name in upper case. Comma, semicolon and tab are told apart.

A contact is known by its \`externalId\`, else its email address, else its phone number; one that is known already takes over what the row gives. Each row is judged alone and is wholly in or wholly out. A phone number must be as long as those of its country are; whether its range is in use is not asked. Importing the same again changes nothing, which is what to do when a connection broke. An \`Idempotency-Key\` is heeded for JSON.`,
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

export const listContacts: Operation = {
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

export const removeContact: Operation = {
  id: 'removeContact',
  access: { role: 'editor', scopes: ['contacts'] },
  tag: 'Contact lists',
  summary: 'Take a contact out of a list',
  description: 'A contact that is in no other list is deleted.',
  parameters: { id: EXAMPLE.list, contactId: EXAMPLE.contact },
  answers: {
    200: json('Removed.', removed, answered(200, 'Contact removed from the list', { id: EXAMPLE.contact })),
  },
};
