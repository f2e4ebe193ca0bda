import { useQuery } from '@tanstack/react-query';
import { getRouteApi, Link, Outlet } from '@tanstack/react-router';
import { Badge } from '../design/badge';
import { Page } from '../design/page';
import { ErrorState, Skeleton } from '../design/states';
import { fill } from '../format';
import { TEXTS } from '../texts';
import { campaignQuery } from './campaign-queries';
import { phaseMeans, phaseTone, phaseWord, reasonText } from './campaign-words';
import { HeadControls } from './controls';
import './campaigns.css';

const { campaign: texts, channels } = TEXTS;
const route = getRouteApi('/signed-in/campaigns/$id');

/** What stands above each part of a campaign: its name, its phase in words, and the parts to choose from. */
export function CampaignPage() {
  const { id } = route.useParams();
  const { data: campaign, error, refetch } = useQuery(campaignQuery(id));
  if (error && !campaign)
    return (
      <Page title={TEXTS.campaigns.title}>
        <ErrorState error={error} onRetry={() => refetch()} />
      </Page>
    );
  if (!campaign)
    return (
      <Page title={TEXTS.common.loading}>
        <Skeleton lines={8} />
      </Page>
    );
  return (
    <Page
      title={campaign.name}
      actions={<HeadControls campaign={campaign} />}
      lead={
        <span className="row">
          <Badge tone={phaseTone(campaign.phase)}>{phaseWord(campaign.phase)}</Badge>
          <span>
            {phaseMeans(campaign)} {campaign.channel.map((one) => channels[one]).join(', ')}
          </span>
        </span>
      }
    >
      {campaign.reason && (
        <p className="notice warn">{fill(texts.reason, { reason: reasonText(campaign.reason) })}</p>
      )}
      <nav className="tabs" aria-label={texts.tabs.label}>
        <Link to="/campaigns/$id" params={{ id }} activeOptions={{ exact: true }}>
          {texts.tabs.overview}
        </Link>
        <Link to="/campaigns/$id/recipients" params={{ id }} activeOptions={{ includeSearch: false }}>
          {texts.tabs.people}
        </Link>
        {campaign.schedule?.cron && (
          <Link to="/campaigns/$id/runs" params={{ id }}>
            {texts.tabs.runs}
          </Link>
        )}
        <Link to="/campaigns/$id/settings" params={{ id }}>
          {texts.tabs.settings}
        </Link>
      </nav>
      {/* What is typed for one campaign must not be there for another that the browser's history leads to. */}
      <Outlet key={id} />
    </Page>
  );
}
