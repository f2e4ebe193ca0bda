import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function SystemPage() {
  return <UnbuiltPage title={TEXTS.nav.system} />;
}
