import { fill } from '../format';
import { TEXTS } from '../texts';
import { Button } from './button';
import { Difference } from './difference';

const texts = TEXTS.conflict;

interface ConflictProps {
  /** The version that another person has saved. */
  version: number;
  /** What the form began from, and what is saved now, as text. */
  before: string;
  after: string;
  onKeep(): void;
  onTake(): void;
}

/** Another person has saved something else while this form was filled in: what changed, and which of the two holds. */
export function Conflict({ version, before, after, onKeep, onTake }: ConflictProps) {
  return (
    <section className="notice warn stack tight" role="alert" aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <p>{fill(texts.text, { version })}</p>
      <Difference before={before} after={after} />
      <div className="row">
        <Button onClick={onKeep}>{texts.keep}</Button>
        <Button kind="quiet" onClick={onTake}>
          {texts.take}
        </Button>
      </div>
    </section>
  );
}
