import { useMutation } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import { isProblem } from '../api/problem';
import type { SetUpTotpData, TurnOffTotpData } from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Field } from '../design/field';
import { SecretDialog } from '../design/secret';
import { ErrorState } from '../design/states';
import { useToast } from '../design/toast';
import { TEXTS } from '../texts';

const { account: texts } = TEXTS;

interface Begun {
  data: { secret: string; otpauthUrl: string };
}
interface Confirmed {
  data: { recoveryCodes: string[] };
}

/** One-time codes of an authenticator, as a second factor beside the password. */
export function SecondFactor() {
  const [isTurningOff, setTurningOff] = useState(false);
  const begin = useMutation({
    mutationFn: () => call<SetUpTotpData, Begun>('POST', '/api/session/totp', { body: {} }),
  });
  const confirm = useConfirmation();
  const isOn = isProblem(begin.error, 409);
  const done = () => {
    begin.reset();
    confirm.reset();
  };
  return (
    <section className="card stack form" aria-label={texts.totp}>
      <h2>{texts.totp}</h2>
      <p className="muted">{texts.totpText}</p>
      {begin.data && !confirm.data && <CodeForm begun={begin.data} confirm={confirm} onCancel={done} />}
      {begin.error && !isOn && <ErrorState error={begin.error} />}
      {isOn && <p className="notice">{texts.totpIsOn}</p>}
      {!begin.data && (
        <div className="row">
          <Button busy={begin.isPending} onClick={() => begin.mutate()}>
            {texts.totpBegin}
          </Button>
          <Button kind="danger" onClick={() => setTurningOff(true)}>
            {texts.totpOff}
          </Button>
        </div>
      )}
      {confirm.data && (
        <SecretDialog
          title={texts.recoveryTitle}
          text={texts.recoveryText}
          values={[{ label: texts.recoveryCodes, value: confirm.data.data.recoveryCodes.join('\n') }]}
          onClose={done}
        />
      )}
      {isTurningOff && <TurnOff onClose={() => setTurningOff(false)} onDone={done} />}
    </section>
  );
}

function useConfirmation() {
  return useMutation({
    mutationFn: (code: string) =>
      call<SetUpTotpData, Confirmed>('POST', '/api/session/totp', { body: { code: code.trim() } }),
  });
}

interface CodeFormProps {
  begun: Begun;
  confirm: ReturnType<typeof useConfirmation>;
  onCancel(): void;
}

function CodeForm({ begun, confirm, onCancel }: CodeFormProps) {
  const [code, setCode] = useState('');
  const wrongCode = findingAt(confirm.error, 'code');
  return (
    <form
      className="stack"
      onSubmit={(event) => {
        event.preventDefault();
        confirm.mutate(code);
      }}
    >
      <p>{texts.totpEnter}</p>
      <code className="secret">{begun.data.secret}</code>
      <p>
        <a href={begun.data.otpauthUrl}>{texts.totpLink}</a>
      </p>
      <Field
        label={texts.totpCode}
        inputMode="numeric"
        autoComplete="one-time-code"
        value={code}
        required
        wrong={wrongCode}
        onChange={({ target }) => setCode(target.value)}
      />
      {confirm.error && !wrongCode && <ErrorState error={confirm.error} />}
      <div className="row">
        <Button kind="primary" type="submit" busy={confirm.isPending}>
          {texts.totpConfirm}
        </Button>
        <Button onClick={onCancel}>{TEXTS.common.cancel}</Button>
      </div>
    </form>
  );
}

function TurnOff({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const say = useToast();
  const off = useMutation({
    mutationFn: () => call<TurnOffTotpData, unknown>('DELETE', '/api/session/totp'),
    onSuccess: () => {
      say(texts.totpIsOff);
      onDone();
      onClose();
    },
  });
  return (
    <Confirm
      danger
      title={texts.totpOffTitle}
      confirm={texts.totpOff}
      busy={off.isPending}
      error={off.error}
      onConfirm={() => off.mutate()}
      onClose={onClose}
    >
      <p>{texts.totpOffText}</p>
    </Confirm>
  );
}
