import type { LiveCampaign } from '../campaigns/reports/live-campaigns';
import { answer } from '../contracts/common';
import { overview } from '../contracts/overview';
import type { AccountKind } from '../domain/account';
import type { Channel } from '../domain/channel';
import type { Became } from '../messaging/events/message-minutes';
import type { OutboxOfChannel } from '../messaging/outbox/outbox-overview';
import { CAMPAIGN_COUNTS } from './campaigns';
import { answered, EXAMPLE } from './openapi/examples';
import { json, type Operation } from './openapi/operation';
import { callerOf } from './request/caller';
import type { App } from './request/routing';

/** What goes on in a workspace, on one page. */
export interface Overview {
  campaigns: LiveCampaign[];
  outbox: OutboxOfChannel[];
  accounts: AccountStand[];
  lastHour: Record<Channel, Became>;
}

export interface AccountStand {
  id: string;
  name: string;
  kind: AccountKind;
  state: 'ok' | 'paused' | 'throttled';
  reason?: string | undefined;
  since: string;
}

const config = { auth: 'campaign' } as const;

/** What goes on in a workspace (api.md 16). */
export function overviewRoutes(read: (workspaceId: string) => Promise<Overview>): (app: App) => void {
  return (app) => {
    app.get('/api/overview', { config, schema: { operation: readOverview } }, async (request) =>
      answer(200, 'Overview', await read(callerOf(request).workspaceId)),
    );
  };
}

const readOverview: Operation = {
  access: { role: 'viewer', scopes: ['read'] },
  id: 'readOverview',
  tag: 'Campaigns',
  summary: 'See what goes on',
  description:
    'Of the caller’s workspace alone: campaigns of every phase but `draft` and the ends, newest first, at most 50; what waits in the outbox, a few seconds old; the accounts that the workspace may use, as this process knows them; and what became of messages in the last hour.',
  answers: {
    200: json(
      'All of it.',
      overview,
      answered(200, 'Overview', {
        campaigns: [
          {
            id: EXAMPLE.campaign,
            name: 'Spring sale',
            phase: 'running' as const,
            counts: { sms: CAMPAIGN_COUNTS },
            ratePerSecond: 50,
            eta: EXAMPLE.at,
          },
        ],
        outbox: [{ channel: 'sms' as const, due: 120, oldestSeconds: 3, held: 0 }],
        accounts: [
          {
            ...{ id: 'default-sms', name: 'SMS', kind: 'http' as const, state: 'paused' as const },
            ...{ reason: '401', since: EXAMPLE.at },
          },
        ],
        lastHour: { sms: { sent: 900, delivered: 850, failed: 12 } },
      }),
    ),
  },
};
