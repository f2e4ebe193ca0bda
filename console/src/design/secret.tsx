import { TEXTS } from '../texts';
import { Button } from './button';
import { Dialog } from './dialog';
import { useToast } from './toast';

interface SecretProps {
  title: string;
  /** What it is for, and that it is shown once. */
  text: string;
  /** Each with its label. */
  values: readonly { label: string; value: string }[];
  onClose(): void;
}

/** Shows what the API says once and never again; only the button closes it, so that a stray key does not lose it. */
export function SecretDialog({ title, text, values, onClose }: SecretProps) {
  const say = useToast();
  const copy = async (value: string) => {
    try {
      await navigator.clipboard.writeText(value);
      say(TEXTS.common.copied);
    } catch {
      say(TEXTS.common.copyFailed, { bad: true });
    }
  };
  return (
    <Dialog
      title={title}
      onClose={() => undefined}
      actions={
        <Button kind="primary" onClick={onClose}>
          {TEXTS.common.kept}
        </Button>
      }
    >
      <p className="notice warn">{text}</p>
      {values.map(({ label, value }) => (
        <div key={label} className="stack tight">
          <h3>{label}</h3>
          <div className="row">
            <code className="secret">{value}</code>
            <Button small aria-label={`${TEXTS.common.copy}: ${label}`} onClick={() => void copy(value)}>
              {TEXTS.common.copy}
            </Button>
          </div>
        </div>
      ))}
    </Dialog>
  );
}
