import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { call } from '../api/client';
import type { BeginStopData, EndStopData } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Field } from '../design/field';
import { ErrorState } from '../design/states';
import { fill, formatTime } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';
import { stopQuery } from './home-queries';

const texts = TEXTS.home.stop;

/** Stopping all that a workspace sends, with what that does in words, and letting it go on. */
export function StopCard() {
  const { data: found, error, refetch } = useQuery(stopQuery);
  const [isAsking, setAsking] = useState(false);
  const queries = useQueryClient();
  const end = useMutation({
    mutationFn: () => call<EndStopData, unknown>('DELETE', '/api/stop'),
    onSettled: () => queries.invalidateQueries(),
  });
  const stopped = found && 'since' in found ? found : null;
  // Once it is known, a try that fails hides neither the button nor what is typed in its dialog.
  if (error && found === undefined) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return (
    <section className={stopped ? 'notice bad stack tight' : 'card stack tight'} aria-labelledby="stop">
      <h2 id="stop">{stopped ? texts.stopped : texts.title}</h2>
      {stopped ? (
        <>
          <p>{fill(texts.since, { since: formatTime(stopped.since), reason: stopped.reason })}</p>
          <p className="muted">{texts.goOnMeans}</p>
          {end.error && <ErrorState error={end.error} />}
          <Allowed from="sender" label={texts.goOn}>
            <div>
              <Button kind="primary" busy={end.isPending} onClick={() => end.mutate()}>
                {texts.goOn}
              </Button>
            </div>
          </Allowed>
        </>
      ) : (
        <div className="row spread">
          <p className="muted">{texts.means}</p>
          <Allowed from="sender" label={texts.stop}>
            <Button kind="danger" onClick={() => setAsking(true)}>
              {texts.stop}
            </Button>
          </Allowed>
        </div>
      )}
      {isAsking && <StopDialog onClose={() => setAsking(false)} />}
    </section>
  );
}

function StopDialog({ onClose }: { onClose(): void }) {
  const [reason, setReason] = useState('');
  const queries = useQueryClient();
  const begin = useMutation({
    mutationFn: () => call<BeginStopData, unknown>('POST', '/api/stop', { body: { reason } }),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    begin.mutate();
  };
  return (
    <Dialog title={texts.ask} onClose={onClose}>
      <form className="stack" onSubmit={submit}>
        <ul>
          {texts.effects.map((effect) => (
            <li key={effect}>{effect}</li>
          ))}
        </ul>
        <Field
          label={texts.reason}
          hint={texts.reasonHint}
          value={reason}
          required
          maxLength={200}
          onChange={({ target }) => setReason(target.value)}
        />
        {begin.error && <ErrorState error={begin.error} />}
        <div className="dialog-actions">
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="danger" type="submit" busy={begin.isPending}>
            {texts.stop}
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
