import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { call } from '../api/client';
import { useCursorList } from '../api/cursor-list';
import type {
  Contact,
  FindContactsData,
  FindContactsResponse,
  ListContactsData,
  ListContactsResponse,
} from '../api/types.gen';
import { Loaded } from '../design/loaded';
import { More } from '../design/paging';
import { SearchField } from '../design/search-field';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Day } from '../design/time';
import { fill } from '../format';
import { TEXTS } from '../texts';

const { contacts: texts } = TEXTS;
const LIMIT = 100;

interface PeopleProps {
  /** Of this list only. */
  listId?: string;
  search: string;
  hint: string;
  onSearch(value: string): void;
  /** What can be done with one, at the end of its row. */
  actions?: (contact: Contact) => ReactNode;
  empty?: ReactNode;
}

/** Contacts with a search, of one list or of the whole workspace. */
export function People({ listId, search, hint, onSearch, actions, empty }: PeopleProps) {
  const people = useCursorList<Contact>(['contacts', { listId, search }], (cursor, signal) => {
    const query = { limit: LIMIT, search, ...(cursor === undefined ? {} : { cursor }) };
    return listId === undefined
      ? call<FindContactsData, FindContactsResponse>('GET', '/api/contact', { query, signal })
      : call<ListContactsData, ListContactsResponse>('GET', '/api/contact-list/{id}/contacts', {
          path: { id: listId },
          query,
          signal,
        });
  });
  return (
    <div className="stack">
      <SearchField value={search} onSearch={onSearch} hint={hint} />
      <Loaded query={{ ...people, data: people.rows }}>
        {(rows) =>
          rows.length === 0 ? (
            search ? (
              <EmptyState title={fill(TEXTS.common.nothingFound, { search })}>
                {TEXTS.common.nothingFoundText}
              </EmptyState>
            ) : (
              (empty ?? <EmptyState title={texts.noPeople}>{texts.noPeopleText}</EmptyState>)
            )
          ) : (
            <>
              <Table
                caption={texts.people}
                rows={rows}
                keyOf={({ id }) => id}
                columns={[
                  {
                    key: 'name',
                    head: texts.fields.name,
                    cell: (contact) => (
                      <Link to="/contacts/$contactId" params={{ contactId: contact.id }}>
                        {nameOf(contact)}
                      </Link>
                    ),
                  },
                  { key: 'email', head: texts.fields.email, cell: ({ email }) => email ?? '–' },
                  { key: 'phone', head: texts.fields.phone, cell: ({ phone }) => phone ?? '–' },
                  { key: 'id', head: texts.fields.externalId, cell: ({ externalId }) => externalId ?? '–' },
                  { key: 'at', head: TEXTS.common.changed, cell: ({ updatedAt }) => <Day at={updatedAt} /> },
                  ...(actions ? [{ key: 'actions', head: TEXTS.common.actions, cell: actions }] : []),
                ]}
              />
              <More
                shown={rows.length}
                hasMore={people.hasNextPage}
                isLoading={people.isFetchingNextPage}
                onMore={() => void people.fetchNextPage()}
              />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

/** What a person is called where they have no name: by an address, or as erased. */
export function nameOf({ name, email, phone, externalId }: Contact): string {
  return name || email || phone || externalId || texts.nameless;
}
