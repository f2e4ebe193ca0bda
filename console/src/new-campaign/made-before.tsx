import { Link } from '@tanstack/react-router';
import { Button } from '../design/button';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';

const texts = TEXTS.newCampaign.madeBefore;

interface MadeBeforeProps {
  isBusy: boolean;
  onAnother(): void;
}

/** The server has an earlier request of this form, of other content, whose answer was lost: nothing was made now. */
export function MadeBefore({ isBusy, onAnother }: MadeBeforeProps) {
  return (
    <section className="notice warn stack tight" role="alert" aria-label={texts.title}>
      <h2>{texts.title}</h2>
      <p>{texts.text}</p>
      <div className="row">
        <Link to="/campaigns">{texts.see}</Link>
        <Allowed from="editor" label={texts.another}>
          <Button busy={isBusy} onClick={onAnother}>
            {texts.another}
          </Button>
        </Allowed>
      </div>
    </section>
  );
}
