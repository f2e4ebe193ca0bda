import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function TemplatesPage() {
  return <UnbuiltPage title={TEXTS.nav.templates} />;
}
