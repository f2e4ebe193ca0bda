import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import type {
  Contact,
  ExportContactData,
  ExportContactResponse,
  ReadContactData,
  ReadContactResponse,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { download } from '../design/download';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { messageOf } from '../design/states';
import { Time } from '../design/time';
import { useToast } from '../design/toast';
import { fill } from '../format';
import { Actions } from '../shell/allowed';
import { TEXTS } from '../texts';
import { EditContact } from './edit-contact';
import { Messages } from './messages';
import { nameOf } from './people';

const { contacts: texts } = TEXTS;
const route = getRouteApi('/signed-in/contacts/$contactId');

/** One person: what is known, what they got, and their rights. */
export function ContactPage() {
  const { contactId } = route.useParams();
  const [open, setOpen] = useState<'edit' | 'erase'>();
  const say = useToast();
  const contact = useQuery({
    queryKey: ['contact', contactId],
    queryFn: ({ signal }) =>
      call<ReadContactData, ReadContactResponse>('GET', '/api/contact/{id}', {
        path: { id: contactId },
        signal,
      }).then(({ data }) => data),
  });
  const exported = useMutation({
    mutationFn: () =>
      call<ExportContactData, ExportContactResponse>('GET', '/api/contact/{id}/export', {
        path: { id: contactId },
      }),
    onSuccess: ({ data }) =>
      download(`contact-${contactId}.json`, 'application/json', `${JSON.stringify(data, null, 2)}\n`),
    onError: (error) => say(messageOf(error), { bad: true }),
  });
  return (
    <Page
      title={contact.data ? nameOf(contact.data) : texts.contact}
      actions={
        contact.data && (
          <Actions
            all={[
              {
                from: 'editor',
                label: TEXTS.common.edit,
                shown: <Button onClick={() => setOpen('edit')}>{TEXTS.common.edit}</Button>,
              },
              {
                from: 'editor',
                label: TEXTS.common.export,
                shown: (
                  <Button busy={exported.isPending} onClick={() => exported.mutate()}>
                    {TEXTS.common.export}
                  </Button>
                ),
              },
              {
                from: 'admin',
                label: texts.erase,
                shown: (
                  <Button kind="danger" onClick={() => setOpen('erase')}>
                    {texts.erase}
                  </Button>
                ),
              },
            ]}
          />
        )
      }
    >
      <Loaded query={contact}>
        {(known) => (
          <>
            <Facts contact={known} />
            <h2>{texts.messages}</h2>
            <Messages contactId={contactId} />
            {open === 'edit' && <EditContact contact={known} onClose={() => setOpen(undefined)} />}
            {open === 'erase' && <Erase contact={known} onClose={() => setOpen(undefined)} />}
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Facts({ contact }: { contact: Contact }) {
  const { fields } = texts;
  return (
    <div className="columns">
      <dl className="card facts">
        {(['name', 'email', 'phone', 'externalId', 'timezone', 'locale'] as const).map((key) => (
          <Fact key={key} label={fields[key]} value={contact[key]} />
        ))}
        <dt>{TEXTS.common.created}</dt>
        <dd>
          <Time at={contact.createdAt} />
        </dd>
        <dt>{TEXTS.common.changed}</dt>
        <dd>
          <Time at={contact.updatedAt} />
        </dd>
      </dl>
      <section className="card stack tight" aria-label={texts.params}>
        <h2>{texts.params}</h2>
        {Object.keys(contact.params).length === 0 ? (
          <p className="muted">{texts.noParams}</p>
        ) : (
          <dl className="facts">
            {Object.entries(contact.params).map(([name, value]) => (
              <Fact key={name} label={name} value={String(value)} />
            ))}
          </dl>
        )}
      </section>
    </div>
  );
}

function Fact({ label, value }: { label: string; value: string | null }) {
  return (
    <>
      <dt>{label}</dt>
      <dd>{value ?? <span className="muted">{TEXTS.common.none}</span>}</dd>
    </>
  );
}

/** `DELETE /api/contact/{id}?erase=true`, which the generated types may not have yet (api.md 16). */
interface EraseContactData {
  url: '/api/contact/{id}';
  path: { id: string };
  query: { erase: boolean };
}

function Erase({ contact, onClose }: { contact: Contact; onClose(): void }) {
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const say = useToast();
  const erasure = useMutation({
    mutationFn: () =>
      call<EraseContactData, unknown>('DELETE', '/api/contact/{id}', {
        path: { id: contact.id },
        query: { erase: true },
      }),
    onSuccess: async () => {
      say(texts.erased);
      onClose();
      queries.removeQueries({ queryKey: ['contact', contact.id] });
      queries.removeQueries({ queryKey: ['contacts'] });
      await navigate({ to: '/contacts', search: {} });
    },
  });
  return (
    <Confirm
      danger
      title={fill(texts.eraseTitle, { name: nameOf(contact) })}
      confirm={texts.eraseConfirm}
      busy={erasure.isPending}
      error={erasure.error}
      onConfirm={() => erasure.mutate()}
      onClose={onClose}
    >
      <ul className="stack tight bullets">
        {texts.eraseText.map((line) => (
          <li key={line}>{line}</li>
        ))}
      </ul>
    </Confirm>
  );
}
