import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client';
import { useOnceKey } from '../api/once-key';
import { isRefusal } from '../api/problem';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Choice, Field } from '../design/field';
import { ErrorState } from '../design/states';
import { useToast } from '../design/toast';
import { fill, formatNumber, plural } from '../format';
import { TEXTS } from '../texts';
import { campaignQuery, type Detail } from './campaign-queries';
import { isOver, stateWord } from './campaign-words';

const texts = TEXTS.campaign.control;

interface DialogProps {
  campaign: Detail;
  onClose(): void;
}

export function CancelDialog({ campaign, onClose }: DialogProps) {
  const { id, name, counts } = campaign;
  const open = Object.values(counts).reduce((sum, one) => sum + one.pending + one.waiting, 0);
  const cancel = useChange(id, onClose, () =>
    call<{ url: '/api/campaign/{id}/cancel'; path: { id: string }; body: object }, unknown>(
      'POST',
      '/api/campaign/{id}/cancel',
      { path: { id }, body: {} },
    ),
  );
  return (
    <Dialog
      title={fill(texts.cancelAsk, { name })}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{texts.keep}</Button>
          <Button kind="danger" busy={cancel.isPending} onClick={() => cancel.mutate(undefined)}>
            {texts.cancel}
          </Button>
        </>
      }
    >
      <p>{texts.cancelMeans}</p>
      {open > 0 && <p>{plural(open, texts.cancelOpen)}</p>}
      {cancel.error && <ErrorState error={cancel.error} />}
    </Dialog>
  );
}

export function PaceDialog({ campaign, onClose }: DialogProps) {
  const { id, delivery } = campaign;
  const [typed, setTyped] = useState(delivery?.ratePerSecond?.toString() ?? '');
  const say = useToast();
  const save = useChange(
    id,
    () => {
      say(texts.paceSaved);
      onClose();
    },
    () =>
      call<
        {
          url: '/api/campaign/{id}';
          path: { id: string };
          body: { delivery: { ratePerSecond: number | null } };
        },
        unknown
      >('PATCH', '/api/campaign/{id}', {
        path: { id },
        body: { delivery: { ratePerSecond: typed === '' ? null : Number(typed) } },
      }),
  );
  const submit = (event: FormEvent) => {
    event.preventDefault();
    save.mutate(undefined);
  };
  return (
    <Dialog title={texts.pace} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <p>{texts.paceMeans}</p>
        <Field
          label={texts.paceLabel}
          hint={texts.paceHint}
          type="number"
          min="0"
          step="any"
          inputMode="decimal"
          value={typed}
          onChange={({ target }) => setTyped(target.value)}
        />
        {save.error && <ErrorState error={save.error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="primary" type="submit" busy={save.isPending}>
            {TEXTS.common.save}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}

const RETRIED = ['failed', 'undelivered', 'unknown'] as const;

/** `codes` narrows it to one outcome; refused ones are sent again only by naming their code. */
export function RetryDialog({
  campaign,
  onClose,
  only,
}: DialogProps & { only?: { state: string; code: string } }) {
  const { id, counts, phase } = campaign;
  const countOf = (state: (typeof RETRIED)[number]) =>
    Object.values(counts).reduce((sum, one) => sum + one[state], 0);
  const [states, setStates] = useState<readonly string[]>(RETRIED.filter((state) => state !== 'unknown'));
  const say = useToast();
  const { retry, once } = useRetry(id, only ? { states: [only.state], codes: [only.code] } : { states });
  const queries = useQueryClient();
  const send = () =>
    retry.mutate(undefined, {
      onError: (error) => {
        if (isRefusal(error)) once.done();
      },
      onSuccess: async ({ data }) => {
        once.done();
        const retried = Object.values(data.retried ?? {}).reduce((sum, one) => sum + one, 0);
        say(plural(data.count ?? retried, texts.retried));
        onClose();
        await queries.invalidateQueries({ queryKey: campaignQuery(id).queryKey });
      },
    });
  return (
    <Dialog
      title={texts.retry}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button
            kind="primary"
            busy={retry.isPending}
            unavailable={!only && states.length === 0}
            onClick={send}
          >
            {texts.retrySend}
          </Button>
        </>
      }
    >
      <p>{texts.retryMeans}</p>
      {only ? (
        <p>
          <code>{only.code}</code>
        </p>
      ) : (
        RETRIED.map((state) => (
          <Choice
            key={state}
            label={`${stateWord(state)} (${formatNumber(countOf(state))})`}
            hint={state === 'unknown' ? texts.retryUnknown : undefined}
            checked={states.includes(state)}
            onChange={({ target }) =>
              setStates(target.checked ? [...states, state] : states.filter((one) => one !== state))
            }
          />
        ))
      )}
      {isOver(phase) && <p className="muted">{TEXTS.campaign.control.startMeans}</p>}
      {retry.error && <ErrorState error={retry.error} />}
    </Dialog>
  );
}

function useRetry(id: string, body: { states: readonly string[]; codes?: string[] }) {
  // A press after a lost answer concerns those who had failed at the first one, not those who failed again since.
  const once = useOnceKey(`retry.${id}`);
  const retry = useMutation({
    mutationFn: () =>
      call<
        { url: '/api/campaign/{id}/retry-failed'; path: { id: string }; body: object },
        { data: { count?: number; retried?: Record<string, number> } }
      >('POST', '/api/campaign/{id}/retry-failed', {
        ...{ path: { id }, body, idempotencyKey: once.keyOf([id, body]) },
      }),
  });
  return { retry, once };
}

function useChange(id: string, onDone: () => void, change: () => Promise<unknown>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: change,
    onSuccess: async () => {
      onDone();
      await queries.invalidateQueries({ queryKey: campaignQuery(id).queryKey });
    },
  });
}
