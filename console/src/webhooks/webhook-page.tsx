import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import type {
  ChangeWebhookData,
  DeleteWebhookData,
  ReadWebhookData,
  ReadWebhookResponse,
  RotateWebhookSecretData,
  RotateWebhookSecretResponse,
  TestWebhookData,
  Webhook,
} from '../api/types.gen';
import { Button } from '../design/button';
import { Confirm } from '../design/confirm';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { SecretDialog } from '../design/secret';
import { ErrorState } from '../design/states';
import { Time } from '../design/time';
import { useToast } from '../design/toast';
import { formatNumber } from '../format';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';
import { Deliveries } from './deliveries';
import { WebhookForm } from './webhook-form';
import { WebhookState } from './webhooks-page';

const { webhooks: texts } = TEXTS;
const route = getRouteApi('/signed-in/webhooks/$webhookId');

/** One webhook: how it is, what it was sent, and what can be done about it. */
export function WebhookPage() {
  const { webhookId } = route.useParams();
  const webhook = useQuery({
    queryKey: ['webhooks', webhookId],
    refetchInterval: 5_000,
    queryFn: ({ signal }) =>
      call<ReadWebhookData, ReadWebhookResponse>('GET', '/api/webhook/{id}', {
        path: { id: webhookId },
        signal,
      }).then(({ data }) => data),
  });
  return (
    <Page title={webhook.data?.url ?? texts.webhook} lead={webhook.data?.description}>
      <Loaded query={webhook}>
        {(known) => (
          <>
            <Allowed from="sender" label={TEXTS.common.edit}>
              <Actions webhook={known} />
            </Allowed>
            <Facts webhook={known} />
            <h2>{texts.deliveries}</h2>
            <Deliveries webhookId={webhookId} />
          </>
        )}
      </Loaded>
    </Page>
  );
}

function Facts({ webhook }: { webhook: Webhook }) {
  const { events, pending, unread, missed, lastSuccessAt, failingSince, pausedUntil } = webhook;
  return (
    <dl className="card facts">
      <dt>{texts.state}</dt>
      <dd>
        <WebhookState webhook={webhook} />
      </dd>
      <dt>{texts.events}</dt>
      <dd>
        <code>{events.join(', ')}</code>
      </dd>
      <dt>{texts.pending}</dt>
      <dd>{formatNumber(pending + unread)}</dd>
      <dt>{texts.missed}</dt>
      <dd>{formatNumber(missed)}</dd>
      <dt>{texts.lastSuccess}</dt>
      <dd>{lastSuccessAt ? <Time at={lastSuccessAt} /> : texts.never}</dd>
      {failingSince && (
        <>
          <dt>{texts.failingSince}</dt>
          <dd>
            <Time at={failingSince} />
          </dd>
        </>
      )}
      {pausedUntil && (
        <>
          <dt>{texts.pausedUntil}</dt>
          <dd>
            <Time at={pausedUntil} />
          </dd>
        </>
      )}
    </dl>
  );
}

function Actions({ webhook }: { webhook: Webhook }) {
  const { id, enabled } = webhook;
  const [open, setOpen] = useState<'edit' | 'delete' | 'rotate'>();
  const queries = useQueryClient();
  const say = useToast();
  const path = { id };
  const refresh = () => queries.invalidateQueries({ queryKey: ['webhooks'] });
  const change = useMutation({
    mutationFn: () =>
      call<ChangeWebhookData, unknown>('PATCH', '/api/webhook/{id}', { path, body: { enabled: !enabled } }),
    onSuccess: refresh,
  });
  const test = useMutation({
    mutationFn: () => call<TestWebhookData, unknown>('POST', '/api/webhook/{id}/test', { path }),
    onSuccess: async () => {
      say(texts.tested);
      await refresh();
    },
  });
  const error = change.error ?? test.error;
  return (
    <>
      <div className="row">
        <Button busy={test.isPending} onClick={() => test.mutate()}>
          {texts.test}
        </Button>
        <Button busy={change.isPending} onClick={() => change.mutate()}>
          {enabled ? texts.disable : texts.enable}
        </Button>
        <Button onClick={() => setOpen('edit')}>{TEXTS.common.edit}</Button>
        <Button onClick={() => setOpen('rotate')}>{texts.rotate}</Button>
        <Button kind="danger" onClick={() => setOpen('delete')}>
          {TEXTS.common.remove}
        </Button>
      </div>
      {error && <ErrorState error={error} />}
      {open === 'edit' && <WebhookForm webhook={webhook} onClose={() => setOpen(undefined)} />}
      {open === 'rotate' && <Rotate id={id} onClose={() => setOpen(undefined)} />}
      {open === 'delete' && <Delete id={id} onClose={() => setOpen(undefined)} />}
    </>
  );
}

function Rotate({ id, onClose }: { id: string; onClose(): void }) {
  const rotation = useMutation({
    mutationFn: () =>
      call<RotateWebhookSecretData, RotateWebhookSecretResponse>('POST', '/api/webhook/{id}/rotate-secret', {
        path: { id },
      }),
  });
  if (rotation.data) {
    return (
      <SecretDialog
        title={texts.secretTitle}
        text={texts.secretText}
        values={[{ label: texts.secret, value: rotation.data.data.secret }]}
        onClose={onClose}
      />
    );
  }
  return (
    <Confirm
      title={texts.rotateTitle}
      confirm={texts.rotate}
      busy={rotation.isPending}
      error={rotation.error}
      onConfirm={() => rotation.mutate()}
      onClose={onClose}
    >
      <p>{texts.rotateText}</p>
    </Confirm>
  );
}

function Delete({ id, onClose }: { id: string; onClose(): void }) {
  const queries = useQueryClient();
  const navigate = route.useNavigate();
  const deletion = useMutation({
    mutationFn: () => call<DeleteWebhookData, unknown>('DELETE', '/api/webhook/{id}', { path: { id } }),
    onSuccess: async () => {
      await navigate({ to: '/webhooks' });
      queries.removeQueries({ queryKey: ['webhooks'] });
    },
  });
  return (
    <Confirm
      danger
      title={texts.deleteTitle}
      confirm={TEXTS.common.remove}
      busy={deletion.isPending}
      error={deletion.error}
      onConfirm={() => deletion.mutate()}
      onClose={onClose}
    >
      <p>{texts.deleteText}</p>
    </Confirm>
  );
}
