import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type { ChangeWebhookData, CreateWebhookData, CreateWebhookResponse, Webhook } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Choice, Field } from '../design/field';
import { SecretDialog } from '../design/secret';
import { ErrorState } from '../design/states';
import { TEXTS } from '../texts';

const { webhooks: texts } = TEXTS;
const FAMILIES = ['message.*', 'campaign.*'] as const;

/** Makes a webhook and shows its secret once, or changes one. */
export function WebhookForm({ webhook, onClose }: { webhook?: Webhook; onClose(): void }) {
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [events, setEvents] = useState<readonly string[]>(webhook?.events ?? FAMILIES);
  const [description, setDescription] = useState(webhook?.description ?? '');
  const queries = useQueryClient();
  const save = useMutation({
    mutationFn: async (): Promise<string | undefined> => {
      const body = { url, events: [...events], description: description || null };
      if (webhook) {
        await call<ChangeWebhookData, unknown>('PATCH', '/api/webhook/{id}', {
          path: { id: webhook.id },
          body,
        });
        return undefined;
      }
      const { data } = await call<CreateWebhookData, CreateWebhookResponse>('POST', '/api/webhook', { body });
      return data.secret;
    },
    onSuccess: async (secret) => {
      await queries.invalidateQueries({ queryKey: ['webhooks'] });
      if (secret === undefined) onClose();
    },
  });
  if (save.data !== undefined) {
    return (
      <SecretDialog
        title={texts.secretTitle}
        text={texts.secretText}
        values={[{ label: texts.secret, value: save.data }]}
        onClose={onClose}
      />
    );
  }
  const others = events.filter((one) => !FAMILIES.some((family) => family === one));
  return (
    <Dialog
      title={webhook ? texts.edit : texts.new}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="primary" type="submit" form="webhook" busy={save.isPending}>
            {webhook ? TEXTS.common.save : TEXTS.common.create}
          </Button>
        </>
      }
    >
      <form
        id="webhook"
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Field
          label={texts.url}
          hint={texts.urlHint}
          type="url"
          value={url}
          required
          wrong={findingAt(save.error, 'url')}
          onChange={({ target }) => setUrl(target.value)}
        />
        <fieldset className="fieldset stack tight">
          <legend>{texts.events}</legend>
          {FAMILIES.map((family) => (
            <Choice
              key={family}
              label={texts.families[family]}
              checked={events.includes(family)}
              onChange={({ target }) =>
                setEvents(target.checked ? [...events, family] : events.filter((one) => one !== family))
              }
            />
          ))}
          <Field
            label={texts.others}
            hint={texts.othersHint}
            value={others.join(' ')}
            wrong={findingAt(save.error, 'events')}
            onChange={({ target }) =>
              setEvents([
                ...events.filter((one) => FAMILIES.some((family) => family === one)),
                ...target.value.split(/[\s,]+/).filter(Boolean),
              ])
            }
          />
        </fieldset>
        <Field
          label={texts.description}
          value={description}
          onChange={({ target }) => setDescription(target.value)}
        />
      </form>
      {save.error && <ErrorState error={save.error} />}
    </Dialog>
  );
}
