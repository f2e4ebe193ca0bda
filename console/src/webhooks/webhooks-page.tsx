import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { call } from '../api/client';
import type { ListWebhooksData, ListWebhooksResponse, Webhook } from '../api/types.gen';
import { Badge } from '../design/badge';
import { Button } from '../design/button';
import { Loaded } from '../design/loaded';
import { Page } from '../design/page';
import { Paging } from '../design/paging';
import { EmptyState } from '../design/states';
import { Table } from '../design/table';
import { Time } from '../design/time';
import { Allowed } from '../shell/allowed';
import { TEXTS } from '../texts';
import { WebhookForm } from './webhook-form';

const { webhooks: texts } = TEXTS;
const LIMIT = 50;

/** Programs that hear of events. */
export function WebhooksPage() {
  const [page, setPage] = useState(1);
  const [isAdding, setAdding] = useState(false);
  const list = useQuery({
    queryKey: ['webhooks', { page }],
    queryFn: ({ signal }) =>
      call<ListWebhooksData, ListWebhooksResponse>('GET', '/api/webhook', {
        query: { page, limit: LIMIT },
        signal,
      }),
  });
  const add = (
    <Allowed from="sender" label={texts.new}>
      <Button kind="primary" onClick={() => setAdding(true)}>
        {texts.new}
      </Button>
    </Allowed>
  );
  return (
    <Page title={TEXTS.nav.webhooks} lead={texts.lead} actions={add}>
      <Loaded query={list}>
        {({ data, pagination }) =>
          data.length === 0 ? (
            <EmptyState title={texts.none}>{texts.noneText}</EmptyState>
          ) : (
            <>
              <Table
                caption={TEXTS.nav.webhooks}
                rows={data}
                keyOf={({ id }) => id}
                columns={[
                  {
                    key: 'url',
                    head: texts.url,
                    cell: ({ id, url, description }) => (
                      <>
                        <Link to="/webhooks/$webhookId" params={{ webhookId: id }}>
                          {url}
                        </Link>
                        {description && <div className="muted small">{description}</div>}
                      </>
                    ),
                  },
                  {
                    key: 'events',
                    head: texts.events,
                    cell: ({ events }) => <code>{events.join(', ')}</code>,
                  },
                  { key: 'state', head: texts.state, cell: (webhook) => <WebhookState webhook={webhook} /> },
                  {
                    key: 'success',
                    head: texts.lastSuccess,
                    cell: ({ lastSuccessAt }) => (lastSuccessAt ? <Time at={lastSuccessAt} /> : '–'),
                  },
                ]}
              />
              <Paging {...pagination} onPage={setPage} />
            </>
          )
        }
      </Loaded>
      {isAdding && <WebhookForm onClose={() => setAdding(false)} />}
    </Page>
  );
}

export function WebhookState({ webhook: { enabled, disabledReason, failingSince } }: { webhook: Webhook }) {
  if (!enabled) {
    return (
      <Badge tone={disabledReason === 'user' ? 'idle' : 'bad'}>
        {texts.disabledBecause[disabledReason ?? 'user']}
      </Badge>
    );
  }
  return failingSince ? <Badge tone="warn">{texts.failing}</Badge> : <Badge tone="ok">{texts.enabled}</Badge>;
}
