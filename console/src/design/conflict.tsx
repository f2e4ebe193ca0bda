import { TEXTS } from '../texts';
import { Button } from './button';
import { Difference } from './difference';

interface ConflictProps {
  title?: string;
  /** What another person has done, and that nothing typed is lost. */
  text: string;
  /** What the form began from, and what is saved now, as text. */
  before: string;
  after: string;
  /** What the two ways out are called. */
  keep?: string;
  take?: string;
  isBusy?: boolean;
  onKeep(): void;
  onTake(): void;
}

/** Another person has saved something else while this form was filled in: what changed, and which of the two holds. */
export function Conflict({
  title = TEXTS.conflict.title,
  keep = TEXTS.conflict.keep,
  take = TEXTS.conflict.take,
  ...given
}: ConflictProps) {
  return (
    <section className="notice warn stack tight" role="alert" aria-label={title}>
      <h2>{title}</h2>
      <p>{given.text}</p>
      <Difference before={given.before} after={given.after} />
      <div className="row">
        <Button busy={given.isBusy ?? false} onClick={given.onKeep}>
          {keep}
        </Button>
        <Button kind="quiet" onClick={given.onTake}>
          {take}
        </Button>
      </div>
    </section>
  );
}
