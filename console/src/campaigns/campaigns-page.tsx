import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function CampaignsPage() {
  return <UnbuiltPage title={TEXTS.nav.campaigns} />;
}
