import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi, Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type {
  CreateContactListData,
  CreateContactListResponse,
  ListContactListsData,
  ListContactListsResponse,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Field } from '../design/field';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { Paging } from '../design/paging';
import { SearchField } from '../design/search-field';
import { EmptyState, ErrorState } from '../design/states';
import { Table } from '../design/table';
import { Tabs } from '../design/tabs';
import { Time } from '../design/time';
import { useTyped } from '../design/use-typed';
import { fill } from '../format';
import { Allowed, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { People } from './people';

const { contacts: texts } = TEXTS;
const route = getRouteApi('/signed-in/contacts');
const LIMIT = 20;

/** Lists of contacts, and finding one person in all of them. */
export function ContactsPage() {
  const { view = 'lists', search = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [isNaming, setNaming] = useState(false);
  return (
    <Page
      title={TEXTS.nav.contacts}
      lead={texts.lead}
      actions={
        <Allowed from="editor" label={texts.newList}>
          <Button kind="primary" onClick={() => setNaming(true)}>
            {texts.newList}
          </Button>
        </Allowed>
      }
    >
      <Tabs
        label={TEXTS.nav.contacts}
        tabs={[
          { key: 'lists', label: texts.lists },
          { key: 'people', label: texts.people },
        ]}
        chosen={view}
        onChoose={(chosen) => void navigate({ search: chosen === 'lists' ? {} : { view: chosen } })}
      >
        {view === 'lists' ? (
          <Lists onNew={() => setNaming(true)} />
        ) : (
          <People
            search={search}
            hint={texts.peopleHint}
            onSearch={(value) =>
              void navigate({ search: { view: 'people', ...(value && { search: value }) }, replace: true })
            }
          />
        )}
      </Tabs>
      {isNaming && <NewList onClose={() => setNaming(false)} />}
    </Page>
  );
}

function Lists({ onNew }: { onNew(): void }) {
  const { page = 1, search = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const lists = useQuery({
    queryKey: ['contact-lists', { page, search }],
    placeholderData: keepPreviousData,
    queryFn: ({ signal }) =>
      call<ListContactListsData, ListContactListsResponse>('GET', '/api/contact-list', {
        query: { page, limit: LIMIT, search },
        signal,
      }),
  });
  const go = (next: { page?: number; search?: string }) =>
    navigate({
      search: {
        ...(next.search ? { search: next.search } : {}),
        ...(next.page && next.page > 1 ? { page: next.page } : {}),
      },
      replace: true,
    });
  return (
    <div className="stack">
      <SearchField value={search} onSearch={(value) => void go({ search: value })} />
      <Loaded query={lists}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <EmptyState
              title={search ? fill(TEXTS.common.nothingFound, { search }) : texts.noLists}
              action={!search && may('editor') && <Button onClick={onNew}>{texts.newList}</Button>}
            >
              {search ? TEXTS.common.nothingFoundText : texts.noListsText}
            </EmptyState>
          ) : (
            <>
              <Table
                caption={texts.lists}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    key: 'name',
                    head: texts.listName,
                    cell: ({ id, name }) => (
                      <Link to="/contacts/lists/$listId" params={{ listId: id }}>
                        {name}
                      </Link>
                    ),
                  },
                  {
                    key: 'created',
                    head: TEXTS.common.created,
                    cell: ({ createdAt }) => <Time at={createdAt} />,
                  },
                  {
                    key: 'changed',
                    head: TEXTS.common.changed,
                    cell: ({ updatedAt }) => <Time at={updatedAt} />,
                  },
                ]}
              />
              <Paging {...pagination} onPage={(next) => void go({ page: next, search })} />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

function NewList({ onClose }: { onClose(): void }) {
  const [name, setName] = useTyped('list.name', '');
  const once = useOnceKey();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const creation = useMutation({
    mutationFn: () =>
      call<CreateContactListData, CreateContactListResponse>('POST', '/api/contact-list', {
        body: { name },
        idempotencyKey: once.keyOf(name),
      }),
    onSuccess: async ({ data: { id } }) => {
      await queries.invalidateQueries({ queryKey: ['contact-lists'] });
      onClose();
      await navigate({ to: '/contacts/lists/$listId', params: { listId: id } });
    },
  });
  const wrong = findingAt(creation.error, 'name');
  return (
    <Dialog
      title={texts.newList}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="primary" type="submit" form="new-list" busy={creation.isPending}>
            {TEXTS.common.create}
          </Button>
        </>
      }
    >
      <form
        id="new-list"
        onSubmit={(event) => {
          event.preventDefault();
          creation.mutate();
        }}
      >
        <Field
          label={texts.listName}
          value={name}
          onChange={({ target }) => setName(target.value)}
          wrong={wrong}
          maxLength={200}
          required
        />
      </form>
      {creation.error && !wrong && <ErrorState error={creation.error} />}
    </Dialog>
  );
}
