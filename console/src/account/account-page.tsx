import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function AccountPage() {
  return <UnbuiltPage title={TEXTS.nav.account} />;
}
