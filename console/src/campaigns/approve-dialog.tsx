import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { call } from '../api/client';
import { isProblem } from '../api/problem';
import type { ApproveCampaignData, ReadCampaignDigestResponse } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { ErrorState, Skeleton } from '../design/states';
import { formatNumber } from '../format';
import { TEXTS } from '../texts';
import { campaignQuery, type Detail, digestQuery } from './campaign-queries';
import { ForecastTable, Warnings } from './forecast';
import { ScheduleLines } from './schedule-lines';

const texts = TEXTS.campaign.control;
type Digest = ReadCampaignDigestResponse['data'];

/** Exactly what the digest covers is approved; what has changed meanwhile must be looked at again. */
export function ApproveDialog({ campaign, onClose }: { campaign: Detail; onClose(): void }) {
  const { id } = campaign;
  const queries = useQueryClient();
  const digest = useQuery(digestQuery(id));
  const approve = useMutation({
    mutationFn: (seen: string) =>
      call<ApproveCampaignData, unknown>('POST', '/api/campaign/{id}/approve', {
        path: { id },
        body: { digest: seen },
      }),
    onSuccess: async () => {
      onClose();
      await queries.invalidateQueries({ queryKey: campaignQuery(id).queryKey });
    },
    onError: (error) => {
      if (isProblem(error, 409, 'digest_changed')) void digest.refetch();
    },
  });
  return (
    <Dialog
      wide
      title={texts.approveTitle}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>{TEXTS.common.cancel}</Button>
          <Button
            kind="primary"
            busy={approve.isPending}
            unavailable={!digest.data}
            onClick={() => digest.data && approve.mutate(digest.data.digest)}
          >
            {texts.approve}
          </Button>
        </>
      }
    >
      <p>{texts.approveMeans}</p>
      {digest.isPending && <Skeleton />}
      {digest.error && <ErrorState error={digest.error} onRetry={() => digest.refetch()} />}
      {digest.data && <DigestFacts digest={digest.data} />}
      {approve.error &&
        (isProblem(approve.error, 409, 'digest_changed') ? (
          <p className="notice warn" role="alert">
            {texts.approveChanged}
          </p>
        ) : (
          <ErrorState error={approve.error} />
        ))}
    </Dialog>
  );
}

function DigestFacts({ digest }: { digest: Digest }) {
  return (
    <>
      <dl className="facts">
        <dt>{TEXTS.campaign.count}</dt>
        <dd>{formatNumber(digest.recipients)}</dd>
        {digest.templates.map((template) => (
          <TemplateFact key={template.channel} template={template} />
        ))}
        {digest.schedule && (
          <>
            <dt>{TEXTS.campaign.settings.schedule}</dt>
            <dd>
              <ScheduleLines schedule={digest.schedule} />
            </dd>
          </>
        )}
        <dt>{texts.approveDigest}</dt>
        <dd>
          <code>{digest.digest}</code>
        </dd>
      </dl>
      <ForecastTable channels={digest.channels} />
      <Warnings warnings={digest.estimate.warnings} />
    </>
  );
}

/** It leads to what the template says, which nothing else on this page shows. */
function TemplateFact({
  template: { channel, templateId, name, version },
}: {
  template: Digest['templates'][number];
}) {
  return (
    <>
      <dt>{TEXTS.channels[channel as keyof typeof TEXTS.channels] ?? channel}</dt>
      <dd>
        <Link to="/templates/$templateId" params={{ templateId }}>
          {name}
        </Link>
        , {TEXTS.campaign.settings.version} {version}
      </dd>
    </>
  );
}
