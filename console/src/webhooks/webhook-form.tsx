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
  const typed = useTypedWebhook(webhook);
  const { url, families, others, description } = typed;
  const save = useSave(webhook, onClose);
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
          save.mutate(typed.body());
        }}
      >
        <Field
          label={texts.url}
          hint={texts.urlHint}
          type="url"
          value={url}
          required
          wrong={findingAt(save.error, 'url')}
          onChange={({ target }) => typed.setUrl(target.value)}
        />
        <Events
          families={families}
          others={others}
          error={save.error}
          onFamilies={typed.setFamilies}
          onOthers={typed.setOthers}
        />
        <Field
          label={texts.description}
          value={description}
          onChange={({ target }) => typed.setDescription(target.value)}
        />
      </form>
      {save.error && <ErrorState error={save.error} />}
    </Dialog>
  );
}

function useTypedWebhook(webhook: Webhook | undefined) {
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
  const body = (): WebhookBody => ({
    url,
    events: [...families, ...others.split(/[\s,]+/).filter(Boolean)],
    description: description || null,
  });
  return {
    ...{ url, families, others, description, body },
    ...{ setUrl, setFamilies, setOthers, setDescription },
  };
}

interface EventsProps {
  families: readonly string[];
  others: string;
  error: unknown;
  onFamilies(families: readonly string[]): void;
  onOthers(others: string): void;
}

function Events({ families, others, error, onFamilies, onOthers }: EventsProps) {
  return (
    <fieldset className="fieldset stack tight">
      <legend>{texts.events}</legend>
      {FAMILIES.map((family) => (
        <Choice
          key={family}
          label={texts.families[family]}
          checked={families.includes(family)}
          onChange={({ target }) =>
            onFamilies(target.checked ? [...families, family] : families.filter((one) => one !== family))
          }
        />
      ))}
      <Field
        label={texts.others}
        hint={texts.othersHint}
        value={others}
        wrong={findingAt(error, 'events')}
        onChange={({ target }) => onOthers(target.value)}
      />
    </fieldset>
  );
}

interface WebhookBody {
  url: string;
  events: string[];
  description: string | null;
}

/** Answers with the secret of a new one. */
function useSave(webhook: Webhook | undefined, onClose: () => void) {
  const queries = useQueryClient();
  const once = useOnceKey();
  return useMutation({
    mutationFn: async (body: WebhookBody): Promise<string | undefined> => {
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
}
