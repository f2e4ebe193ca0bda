import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function WebhooksPage() {
  return <UnbuiltPage title={TEXTS.nav.webhooks} />;
}
