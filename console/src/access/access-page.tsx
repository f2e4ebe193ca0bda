import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function AccessPage() {
  return <UnbuiltPage title={TEXTS.nav.access} />;
}
