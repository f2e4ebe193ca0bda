import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function AuditPage() {
  return <UnbuiltPage title={TEXTS.nav.audit} />;
}
