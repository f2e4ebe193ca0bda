import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { call } from '../api/client';
import { useCursorList } from '../api/cursor-list';
import type {
  ListWebhookDeliveriesData,
  ListWebhookDeliveriesResponse,
  RedeliverFailedDeliveriesData,
  RedeliverWebhookDeliveryData,
  WebhookDelivery,
} from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button } from '../design/button';
import { Select } from '../design/field';
import { Loaded } from '../design/loaded';
import { More } from '../design/paging';
import { EmptyState, messageOf } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { useToast } from '../design/toast';
import { Allowed, useMay } from '../shell/allowed';
import { TEXTS } from '../texts';

const { webhooks: texts } = TEXTS;
const STATES = ['pending', 'delivered', 'failed'] as const;
const TONES = { pending: 'busy', delivered: 'ok', failed: 'bad' } as const;

/** What a webhook was sent, newest first, each to be sent again. */
export function Deliveries({ webhookId }: { webhookId: string }) {
  const [state, setState] = useState<WebhookDelivery['state']>();
  const list = useDeliveries(webhookId, state);
  const again = useRedelivery(webhookId);
  return (
    <div className="stack">
      <div className="row end">
        <Select
          label={texts.state}
          value={state ?? ''}
          onChange={({ target }) => setState(STATES.find((one) => one === target.value))}
        >
          <option value="">{TEXTS.common.all}</option>
          {STATES.map((one) => (
            <option key={one} value={one}>
              {texts.states[one]}
            </option>
          ))}
        </Select>
        <Allowed from="sender" label={texts.redeliverFailed}>
          <Button busy={again.isPending} onClick={() => again.mutate(undefined)}>
            {texts.redeliverFailed}
          </Button>
        </Allowed>
      </div>
      <Loaded query={{ ...list, data: list.rows }}>
        {(rows) =>
          rows.length === 0 ? (
            <EmptyState title={texts.noDeliveries}>{texts.noDeliveriesText}</EmptyState>
          ) : (
            <>
              <DeliveryTable rows={rows} onAgain={again.mutate} />
              <More
                shown={rows.length}
                hasMore={list.hasNextPage}
                isLoading={list.isFetchingNextPage}
                onMore={() => void list.fetchNextPage()}
              />
            </>
          )
        }
      </Loaded>
    </div>
  );
}

function DeliveryTable({ rows, onAgain }: { rows: WebhookDelivery[]; onAgain(id: string): void }) {
  const may = useMay();
  return (
    <Table
      caption={texts.deliveries}
      rows={rows}
      keyOf={({ id }) => id}
      columns={[
        { key: 'at', head: TEXTS.common.created, cell: ({ createdAt }) => <Time at={createdAt} /> },
        { key: 'type', head: texts.event, cell: ({ type }) => <code>{type}</code> },
        {
          key: 'state',
          head: texts.state,
          cell: (one) => <Badge tone={TONES[one.state]}>{texts.states[one.state]}</Badge>,
        },
        { key: 'attempts', head: texts.attempts, numeric: true, cell: ({ attempts }) => attempts },
        {
          key: 'answer',
          head: texts.answer,
          cell: ({ status, code, answer }) =>
            [status, code, answer].filter((part) => part !== null && part !== '').join(' · ') || '–',
        },
        {
          key: 'actions',
          head: TEXTS.common.actions,
          cell: ({ id, state: now, type }) =>
            now === 'pending' || !may('sender') ? null : (
              <Button small kind="quiet" onClick={() => onAgain(id)}>
                {texts.redeliver}
                <span className="only-heard">: {type}</span>
              </Button>
            ),
        },
      ]}
    />
  );
}

function useDeliveries(webhookId: string, state: WebhookDelivery['state'] | undefined) {
  return useCursorList<WebhookDelivery>(
    ['webhooks', webhookId, 'deliveries', state],
    (cursor, signal) =>
      call<ListWebhookDeliveriesData, ListWebhookDeliveriesResponse>('GET', '/api/webhook/{id}/deliveries', {
        path: { id: webhookId },
        query: { limit: 50, ...(state && { state }), ...(cursor && { cursor }) },
        signal,
      }),
    { refetchInterval: 5_000 },
  );
}

/** Of one delivery, or of all that failed. */
function useRedelivery(webhookId: string) {
  const queries = useQueryClient();
  const say = useToast();
  return useMutation({
    mutationFn: (deliveryId: string | undefined) =>
      deliveryId === undefined
        ? call<RedeliverFailedDeliveriesData, unknown>('POST', '/api/webhook/{id}/redeliver', {
            path: { id: webhookId },
            body: { state: 'failed' },
          })
        : call<RedeliverWebhookDeliveryData, unknown>(
            'POST',
            '/api/webhook/{id}/deliveries/{deliveryId}/redeliver',
            {
              path: { id: webhookId, deliveryId },
            },
          ),
    onSuccess: async () => {
      say(texts.redelivering);
      await queries.invalidateQueries({ queryKey: ['webhooks', webhookId] });
    },
    onError: (error) => say(messageOf(error), { bad: true }),
  });
}
