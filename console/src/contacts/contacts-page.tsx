import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function ContactsPage() {
  return <UnbuiltPage title={TEXTS.nav.contacts} />;
}
