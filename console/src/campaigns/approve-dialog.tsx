import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { call } from '../api/client';
import { isProblem } from '../api/problem';
import type { ApproveCampaignData } from '../api/types.gen';
import { Button } from '../design/button';
import { Dialog } from '../design/dialog';
import { ErrorState, Skeleton } from '../design/states';
import { formatNumber } from '../format';
import { TEXTS } from '../texts';
import { campaignQuery, type Detail, digestQuery } from './campaign-queries';
import { ForecastTable, Warnings } from './forecast';

const texts = TEXTS.campaign.control;

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
      {digest.data && (
        <>
          <dl className="facts">
            <dt>{TEXTS.campaign.count}</dt>
            <dd>{formatNumber(digest.data.recipients)}</dd>
            {digest.data.templates.map(({ channel, name, version }) => (
              <TemplateFact key={channel} channel={channel} name={name} version={version} />
            ))}
            <dt>{texts.approveDigest}</dt>
            <dd>
              <code>{digest.data.digest}</code>
            </dd>
          </dl>
          <ForecastTable channels={digest.data.channels} />
          <Warnings warnings={digest.data.estimate.warnings} />
        </>
      )}
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

function TemplateFact({ channel, name, version }: { channel: string; name: string; version: number }) {
  return (
    <>
      <dt>{TEXTS.channels[channel as keyof typeof TEXTS.channels] ?? channel}</dt>
      <dd>
        {name}, {TEXTS.campaign.settings.version} {version}
      </dd>
    </>
  );
}
