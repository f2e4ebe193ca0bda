import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function PolicyPage() {
  return <UnbuiltPage title={TEXTS.nav.policy} />;
}
