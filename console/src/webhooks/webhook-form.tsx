import { useMutation, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { useOnceKey } from '../api/once-key';
import type { ChangeWebhookData, CreateWebhookData, CreateWebhookResponse, Webhook } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Choice, Field } from '../design/field';
import { SecretDialog } from '../design/secret';
import { ErrorState } from '../design/states';
import { useTyped } from '../design/use-typed';
import { TEXTS } from '../texts';

const { webhooks: texts } = TEXTS;
const FAMILIES = ['message.*', 'campaign.*'] as const;

/** Makes a webhook and shows its secret once, or changes one. */
export function WebhookForm({ webhook, onClose }: { webhook?: Webhook; onClose(): void }) {
  const place = `webhook.${webhook?.id ?? 'new'}`;
  const [url, setUrl] = useTyped(`${place}.url`, webhook?.url ?? '');
  const [families, setFamilies] = useTyped<readonly string[]>(
    `${place}.families`,
    FAMILIES.filter((one) => webhook?.events.includes(one) ?? true),
  );
  const [others, setOthers] = useTyped(
    `${place}.others`,
    (webhook?.events ?? []).filter((one) => !FAMILIES.some((family) => family === one)).join(' '),
  );
  const [description, setDescription] = useTyped(`${place}.description`, webhook?.description ?? '');
  const queries = useQueryClient();
  const once = useOnceKey();
  const save = useMutation({
    mutationFn: async (): Promise<string | undefined> => {
      const events = [...families, ...others.split(/[\s,]+/).filter(Boolean)];
      const body = { url, events, description: description || null };
      if (webhook) {
        await call<ChangeWebhookData, unknown>('PATCH', '/api/webhook/{id}', {
          path: { id: webhook.id },
          body,
        });
        return undefined;
      }
      const { data } = await call<CreateWebhookData, CreateWebhookResponse>('POST', '/api/webhook', {
        body,
        idempotencyKey: once.keyOf(body),
      });
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
              checked={families.includes(family)}
              onChange={({ target }) =>
                setFamilies(target.checked ? [...families, family] : families.filter((one) => one !== family))
              }
            />
          ))}
          <Field
            label={texts.others}
            hint={texts.othersHint}
            value={others}
            wrong={findingAt(save.error, 'events')}
            onChange={({ target }) => setOthers(target.value)}
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
