import { LinkButton } from '../design/button';
import { Page } from '../design/page';
import { TEXTS } from '../texts';

export function NotFoundPage() {
  return (
    <Page title={TEXTS.common.notFound} lead={TEXTS.common.notFoundText}>
      <div>
        <LinkButton to="/">{TEXTS.common.toHome}</LinkButton>
      </div>
    </Page>
  );
}
