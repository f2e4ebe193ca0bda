import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type {
  Contact,
  ContactListDetail,
  DeleteContactListData,
  ReadContactListData,
  ReadContactListResponse,
  RemoveContactData,
  RenameContactListData,
} from '../api/types.gen';
import { Button, LinkButton } from '../design/button';
import { Confirm } from '../design/confirm';
import { Field } from '../design/field';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { EmptyState } from '../design/states';
import { useToast } from '../design/toast';
import { fill, formatNumber } from '../format';
import { Actions, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';
import { nameOf, People } from './people';

const { contacts: texts } = TEXTS;
const route = getRouteApi('/signed-in/contacts/lists/$listId');

type Asked = { what: 'rename' } | { what: 'delete' } | { what: 'remove'; contact: Contact };

/** One list: who is in it, and what can be done with it. */
export function ListPage() {
  const { listId } = route.useParams();
  const { search = '' } = route.useSearch();
  const navigate = route.useNavigate();
  const [asked, setAsked] = useState<Asked>();
  const may = useMay();
  const list = useQuery({
    queryKey: ['contact-lists', listId],
    queryFn: ({ signal }) =>
      call<ReadContactListData, ReadContactListResponse>('GET', '/api/contact-list/{id}', {
        path: { id: listId },
        signal,
      }).then(({ data }) => data),
  });
  const importLink = (
    <LinkButton kind="primary" to="/contacts/lists/$listId/import" params={{ listId }}>
      {TEXTS.imports.submit}
    </LinkButton>
  );
  return (
    <Page
      title={list.data?.name ?? texts.list}
      lead={list.data && <Counts counts={list.data.counts} />}
      actions={<ListActions importLink={importLink} onAsk={setAsked} />}
    >
      <Loaded query={list}>
        {(known) => (
          <>
            <People
              listId={listId}
              search={search}
              hint={texts.searchHint}
              onSearch={(value) => void navigate({ search: value ? { search: value } : {}, replace: true })}
              empty={
                <EmptyState title={texts.emptyList} action={may('editor') && importLink}>
                  {texts.emptyListText}
                </EmptyState>
              }
              actions={
                may('editor')
                  ? (contact) => (
                      <Button small kind="quiet" onClick={() => setAsked({ what: 'remove', contact })}>
                        {texts.takeOut}
                        <span className="only-heard">: {nameOf(contact)}</span>
                      </Button>
                    )
                  : undefined
              }
            />
            {asked && <Change list={known} asked={asked} onClose={() => setAsked(undefined)} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function ListActions({ importLink, onAsk }: { importLink: ReactNode; onAsk(asked: Asked): void }) {
  return (
    <Actions
      all={[
        { from: 'editor', label: TEXTS.imports.submit, shown: importLink },
        {
          from: 'editor',
          label: texts.rename,
          shown: <Button onClick={() => onAsk({ what: 'rename' })}>{texts.rename}</Button>,
        },
        {
          from: 'editor',
          label: TEXTS.common.remove,
          shown: (
            <Button kind="danger" onClick={() => onAsk({ what: 'delete' })}>
              {TEXTS.common.remove}
            </Button>
          ),
        },
      ]}
    />
  );
}

function Counts({ counts: { contacts, withEmail, withPhone } }: Pick<ContactListDetail, 'counts'>) {
  return fill(texts.counts, {
    contacts: formatNumber(contacts),
    email: formatNumber(withEmail),
    phone: formatNumber(withPhone),
  });
}

function Change({ list, asked, onClose }: { list: ContactListDetail; asked: Asked; onClose(): void }) {
  const [name, setName] = useState(list.name);
  const change = useChange(list, asked, onClose);
  const shared = {
    busy: change.isPending,
    error: change.error,
    onConfirm: () => change.mutate(name),
    onClose,
  };
  if (asked.what === 'rename')
    return (
      <Confirm title={texts.rename} confirm={TEXTS.common.save} {...shared}>
        <Field
          label={texts.listName}
          value={name}
          maxLength={200}
          wrong={findingAt(change.error, 'name')}
          onChange={({ target }) => setName(target.value)}
        />
      </Confirm>
    );
  if (asked.what === 'delete')
    return (
      <Confirm
        danger
        title={fill(texts.deleteTitle, { name: list.name })}
        confirm={TEXTS.common.remove}
        {...shared}
      >
        <p>{texts.deleteText}</p>
      </Confirm>
    );
  return (
    <Confirm
      title={fill(texts.takeOutTitle, { name: nameOf(asked.contact) })}
      confirm={texts.takeOut}
      {...shared}
    >
      <p>{texts.takeOutText}</p>
    </Confirm>
  );
}

function useChange(list: ContactListDetail, asked: Asked, onClose: () => void) {
  const { id } = list;
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const say = useToast();
  return useMutation({
    mutationFn: async (name: string) => {
      if (asked.what === 'rename') {
        await call<RenameContactListData, unknown>('PATCH', '/api/contact-list/{id}', {
          path: { id },
          body: { name },
        });
      } else if (asked.what === 'delete') {
        await call<DeleteContactListData, unknown>('DELETE', '/api/contact-list/{id}', { path: { id } });
      } else {
        const path = { id, contactId: asked.contact.id };
        await call<RemoveContactData, unknown>('DELETE', '/api/contact-list/{id}/contacts/{contactId}', {
          path,
        });
      }
    },
    onSuccess: async () => {
      onClose();
      if (asked.what === 'delete') {
        say(fill(texts.deleted, { name: list.name }));
        queries.removeQueries({ queryKey: ['contact-lists', id] });
        await navigate({ to: '/contacts', search: {} });
      } else if (asked.what === 'remove') {
        await queries.invalidateQueries({ queryKey: ['contacts'] });
      }
      await queries.invalidateQueries({ queryKey: ['contact-lists'] });
    },
  });
}
