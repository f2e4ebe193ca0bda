import { type Command, Option } from 'commander';
import {
  addResource,
  anyRow,
  members,
  type Options,
  type ResourceCommand,
  readRows,
  rowLimit,
  segment,
  table,
} from './resource';

const LISTS = '/api/contact-list';
const LIST_COLUMNS = ['id', 'name', 'createdAt', 'updatedAt'];
const CONTACT_COLUMNS = ['id', 'externalId', 'name', 'email', 'phone', 'updatedAt'];
const limit = () => new Option('--limit <number>', 'how many at most').argParser(rowLimit).default(20);

/** `fanfare contact-list …` and, of contacts, what is not an import (api.md 6 and 16), over HTTP. */
export function addContactListCommands(program: Command): void {
  const lists = { name: 'contact-list', description: 'lists of contacts', as: 'backend' } as const;
  addResource(program, lists, [
    {
      usage: 'list',
      description: 'list contact lists, newest first',
      options: [new Option('--search <text>', 'whose name has this in it'), limit()],
      run: async (api, _, { search, limit: most }) =>
        table(await readRows(api, LISTS, { search }, most), LIST_COLUMNS),
    },
    {
      usage: 'create <name>',
      description: 'create an empty list, for `fanfare contacts import`',
      run: async (api, [name]) => members((await api.post(LISTS, { name }, anyRow)).data),
    },
    {
      usage: 'show <id>',
      description: 'show a list with its counts',
      run: async (api, [id]) => members((await api.get(`${LISTS}/${segment(id)}`, anyRow)).data),
    },
    {
      usage: 'rename <id> <name>',
      description: 'give a list another name',
      run: async (api, [id, name]) =>
        members((await api.patch(`${LISTS}/${segment(id)}`, { name }, anyRow)).data),
    },
    {
      usage: 'delete <id>',
      description: 'delete a list, with its contacts that are in no other list',
      run: async (api, [id]) => members((await api.delete(`${LISTS}/${segment(id)}`, anyRow)).data),
    },
  ]);
  addResource(
    program,
    { name: 'contacts', description: 'contacts of the workspace', as: 'backend' },
    CONTACTS,
  );
}

const CONTACTS: ResourceCommand[] = [
  {
    usage: 'list',
    description: 'list contacts of the workspace, or of one list',
    options: [
      new Option('--list <id>', 'of this contact list'),
      new Option('--search <text>', 'an external id, an email address or a phone number, or its beginning'),
      limit(),
    ],
    run: async (api, _, { list, search, limit: most }: Options) => {
      const path = list === undefined ? '/api/contact' : `${LISTS}/${segment(list)}/contacts`;
      return table(await readRows(api, path, { search }, most), CONTACT_COLUMNS);
    },
  },
  {
    usage: 'show <id>',
    description: 'show a contact',
    run: async (api, [id]) => members((await api.get(`/api/contact/${segment(id)}`, anyRow)).data),
  },
  {
    usage: 'erase <id>',
    description: 'delete a person everywhere, for good; the address is not written to again',
    run: async (api, [id]) =>
      members((await api.delete(`/api/contact/${segment(id)}?erase=true`, anyRow)).data),
  },
];
