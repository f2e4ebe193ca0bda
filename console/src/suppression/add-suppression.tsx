import { useMutation } from '@tanstack/react-query';
import { call } from '../api/client';
import { findingAt } from '../api/findings';
import type { AddSuppressionData, Suppression } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { Field, Select } from '../design/field';
import { ErrorState } from '../design/states';
import { useToast } from '../design/toast';
import { useTyped } from '../design/use-typed';
import { fill } from '../format';
import { TEXTS } from '../texts';

const { suppression: texts, channels } = TEXTS;

/** Suppresses one address; a refusal leaves the form as it was. */
export function AddSuppression({ onClose, onDone }: { onClose(): void; onDone(): void }) {
  const [channel, setChannel] = useTyped<Suppression['channel']>('suppression.channel', 'all');
  const [address, setAddress] = useTyped('suppression.address', '');
  const [reason, setReason] = useTyped('suppression.reason', '');
  const say = useToast();
  const addition = useMutation({
    mutationFn: () =>
      call<AddSuppressionData, unknown>('POST', '/api/suppression', { body: { channel, address, reason } }),
    onSuccess: () => {
      say(fill(texts.added, { address }));
      onClose();
      onDone();
    },
  });
  const { error } = addition;
  return (
    <Dialog
      title={texts.add}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button kind="primary" type="submit" form="add-suppression" busy={addition.isPending}>
            {texts.addConfirm}
          </Button>
        </>
      }
    >
      <form
        id="add-suppression"
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          addition.mutate();
        }}
      >
        <Select
          label={texts.channel}
          value={channel}
          onChange={({ target }) => setChannel(target.value as Suppression['channel'])}
        >
          <option value="all">{texts.everyChannel}</option>
          {(['email', 'sms', 'voice'] as const).map((one) => (
            <option key={one} value={one}>
              {channels[one]}
            </option>
          ))}
        </Select>
        <Field
          label={texts.address}
          hint={texts.addressHint}
          value={address}
          required
          wrong={findingAt(error, 'address')}
          onChange={({ target }) => setAddress(target.value)}
        />
        <Field
          label={texts.reason}
          hint={texts.reasonHint}
          value={reason}
          required
          wrong={findingAt(error, 'reason')}
          onChange={({ target }) => setReason(target.value)}
        />
      </form>
      {error && !findingAt(error, 'address') && <ErrorState error={error} />}
    </Dialog>
  );
}
