import { useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { addressOf, call } from '../api/client';
import type { ReadContactListData, ReadContactListResponse } from '../api/types.gen';
import { LinkButton } from '../design/button';
import { Field } from '../design/field';
import { ImportPanel } from '../design/import-panel';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { fill } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';

const { contacts: texts } = TEXTS;
const route = getRouteApi('/signed-in/contacts/lists/$listId/import');

/** A file of contacts goes into one list. */
export function ImportPage() {
  const { listId } = route.useParams();
  const [country, setCountry] = useState('');
  const queries = useQueryClient();
  const list = useQuery({
    queryKey: ['contact-lists', listId],
    queryFn: ({ signal }) =>
      call<ReadContactListData, ReadContactListResponse>('GET', '/api/contact-list/{id}', {
        path: { id: listId },
        signal,
      }).then(({ data }) => data),
  });
  const code = country.trim().toUpperCase();
  return (
    <Page
      title={list.data ? fill(texts.importTitle, { name: list.data.name }) : TEXTS.imports.submit}
      lead={texts.importLead}
      actions={
        <LinkButton to="/contacts/lists/$listId" params={{ listId }}>
          {texts.backToList}
        </LinkButton>
      }
    >
      <Allowed from="editor" label={TEXTS.imports.submit}>
        <Loaded query={list}>
          {() => (
            <ImportPanel
              address={addressOf('/api/contact-list/{id}/contacts', { id: listId }, { country: code })}
              help={texts.importHelp}
              options={
                <div className="form">
                  <Field
                    label={texts.country}
                    hint={texts.countryHint}
                    value={country}
                    maxLength={2}
                    size={4}
                    autoCapitalize="characters"
                    onChange={({ target }) => setCountry(target.value)}
                  />
                </div>
              }
              onDone={() => {
                void queries.invalidateQueries({ queryKey: ['contact-lists'] });
                void queries.invalidateQueries({ queryKey: ['contacts'] });
              }}
            />
          )}
        </Loaded>
      </Allowed>
    </Page>
  );
}
