import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type { ChangeContactData, Contact } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Field } from '../design/field';
import { type Pair, PairsField } from '../design/pairs-field';
import { ErrorState } from '../design/states';
import { useToast } from '../design/toast';
import { useTyped } from '../design/use-typed';
import { TEXTS } from '../texts';

const { contacts: texts } = TEXTS;
const FIELDS = ['name', 'email', 'phone', 'externalId', 'timezone', 'locale'] as const;

/** Changes a contact; an empty field is cleared, and params are replaced as a whole. */
export function EditContact({ contact, onClose }: { contact: Contact; onClose(): void }) {
  const place = `contact.${contact.id}`;
  const [typed, setTyped] = useTyped<Record<string, string>>(
    `${place}.fields`,
    Object.fromEntries(FIELDS.map((key) => [key, contact[key] ?? ''])),
  );
  const [params, setParams] = useTyped<readonly Pair[]>(
    `${place}.params`,
    Object.entries(contact.params).map(([name, value]) => ({ name, value: String(value) })),
  );
  const change = useChange(contact, onClose);
  return (
    <Dialog
      wide
      title={texts.editTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="primary" type="submit" form="edit-contact" busy={change.isPending}>
            {TEXTS.common.save}
          </Button>
        </>
      }
    >
      <form
        id="edit-contact"
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate(changedBody(contact, typed, params));
        }}
      >
        <div className="columns">
          {FIELDS.map((key) => (
            <Field
              key={key}
              label={texts.fields[key]}
              hint={key === 'timezone' ? texts.timezoneHint : key === 'locale' ? texts.localeHint : undefined}
              value={typed[key] ?? ''}
              wrong={findingAt(change.error, key)}
              onChange={({ target }) => setTyped({ ...typed, [key]: target.value })}
            />
          ))}
        </div>
        <PairsField
          label={texts.params}
          hint={texts.paramsHint}
          pairs={params}
          wrong={findingAt(change.error, 'params')}
          onChange={setParams}
        />
      </form>
      {change.error && <ErrorState error={change.error} />}
    </Dialog>
  );
}

function useChange(contact: Contact, onClose: () => void) {
  const queries = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (body: ChangeContactData['body']) =>
      call<ChangeContactData, unknown>('PATCH', '/api/contact/{id}', {
        path: { id: contact.id },
        body,
      }),
    onSuccess: async () => {
      say(TEXTS.common.saved);
      onClose();
      await queries.invalidateQueries({ queryKey: ['contact', contact.id] });
      await queries.invalidateQueries({ queryKey: ['contacts'] });
    },
  });
}

/** Only what was changed, so that two people who change different fields both keep theirs. */
function changedBody(
  contact: Contact,
  typed: Record<string, string>,
  params: readonly Pair[],
): ChangeContactData['body'] {
  const body: Record<string, unknown> = {};
  for (const key of FIELDS) {
    const value = typed[key]?.trim() || null;
    if (value !== contact[key]) body[key] = value;
  }
  const numbers = new Map(Object.entries(contact.params).filter(([, value]) => typeof value === 'number'));
  const next = Object.fromEntries(
    params
      .filter(({ name }) => name.trim() !== '')
      // What was a number and was not touched stays one.
      .map(({ name, value }) => [name.trim(), String(numbers.get(name)) === value ? Number(value) : value]),
  );
  if (JSON.stringify(next) !== JSON.stringify(contact.params)) body.params = next;
  return body as ChangeContactData['body'];
}
