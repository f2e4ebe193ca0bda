import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function SuppressionPage() {
  return <UnbuiltPage title={TEXTS.nav.suppression} />;
}
