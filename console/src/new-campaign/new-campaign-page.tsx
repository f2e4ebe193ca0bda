import { UnbuiltPage } from '../shell/unbuilt-page';
import { TEXTS } from '../texts';

export function NewCampaignPage() {
  return <UnbuiltPage title={TEXTS.nav.newCampaign} />;
}
