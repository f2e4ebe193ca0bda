import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function CarriersPage() {
  return <UnbuiltPage title={TEXTS.nav.carriers} />;
}
