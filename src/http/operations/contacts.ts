import { contactDetail, contactExport, contactPage } from '../../contracts/answers/contacts';
import { contactChangeBody } from '../../contracts/contacts';
import { json, jsonBody, type Operation } from '../operation';
import { contactRow } from './contact-row';
import { answered, EXAMPLE } from './examples';

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

export const findContacts: Operation = {
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

export const readContact: Operation = {
  ...ONE,
  id: 'readContact',
  access: { role: 'viewer', scopes: ['read'] },
  tag: 'Contact lists',
  summary: 'Read a contact',
  description:
    'As it is now. Messages of earlier runs went to the addresses that it had when they were frozen.',
  answers: { 200: json('The contact.', contactDetail, answered(200, 'Contact', CONTACT)) },
};

export const changeContact: Operation = {
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

export const exportContact: Operation = {
  ...ONE,
  id: 'exportContact',
  access: { role: 'editor', scopes: ['read'] },
  bound: 'streams',
  tag: 'Contact lists',
  summary: 'Export all that is known of a contact',
  description:
    'The contact, its lists, and every entry of its timeline, newest first: its part in each run with the messages and their events, runs that left it out and why, durable sends, what counts for caps, and blocks of the suppression list. Streamed, however much it is.',
  answers: {
    200: json(
      'All of it.',
      contactExport,
      answered(200, 'All that is known of the contact', {
        contact: CONTACT,
        lists: [{ id: EXAMPLE.list, name: 'Customers', addedAt: EXAMPLE.at }],
        entries: [],
      }),
      { 'content-disposition': 'A name for the file.' },
    ),
  },
};
