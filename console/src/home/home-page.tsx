import { LinkButton } from '../design/button';
import { Page } from '../design/page';
import { EmptyState } from '../design/states';
import { TEXTS } from '../texts';

export function HomePage() {
  return (
    <Page title={TEXTS.nav.home}>
      <EmptyState
        title={TEXTS.nav.campaigns}
        action={<LinkButton to="/campaigns">{TEXTS.nav.campaigns}</LinkButton>}
      />
    </Page>
  );
}
