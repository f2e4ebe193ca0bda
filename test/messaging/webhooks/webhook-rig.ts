import type { Kysely } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import { createPhaseChanges } from '../../../src/campaigns/reports/phase-changes';
import { createLog } from '../../../src/log';
import { createSealing, type Sealing } from '../../../src/messaging/access/sealing';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import type { WebhookTiming } from '../../../src/messaging/webhooks/attempts';
import type { WebhookDelivery as DeliveryRecord } from '../../../src/messaging/webhooks/deliveries';
import { createTargetGuard, type Resolve } from '../../../src/messaging/webhooks/target-guard';
import {
  createWebhookDelivery,
  type WebhookDelivery,
} from '../../../src/messaging/webhooks/webhook-delivery';
import { createWebhooks, type Webhooks } from '../../../src/messaging/webhooks/webhooks';
import { newId } from '../../../src/storage/new-id';
import type { Storage } from '../../../src/storage/storage';
import { createOutboxRig, type OutboxRig } from '../outbox-rig';

/** Webhooks of one workspace over a real database, and messages to be told of. */
export interface WebhookRig {
  db: Kysely<MessagingTables>;
  campaignsDb: Kysely<CampaignTables>;
  workspaceId: string;
  webhooks: Webhooks;
  outbox: OutboxRig;
  /** A process that delivers; stopped with the rig. */
  deliver(options?: {
    timing?: Partial<WebhookTiming>;
    allowPrivate?: boolean;
    resolve?: Resolve;
    sealing?: Sealing;
  }): Promise<WebhookDelivery>;
  /** Accepts messages; each is an event. */
  accept(count: number): Promise<void>;
  deliveries(webhookId: string, state?: DeliveryRecord['state']): Promise<DeliveryRecord[]>;
  stop(): Promise<void>;
}

export async function createWebhookRig(
  storage: Storage,
  sealing: Sealing = createSealing([Buffer.alloc(32, 1)]),
): Promise<WebhookRig> {
  const log = createLog(process.env.LOG_LEVEL ?? 'silent');
  const outbox = await createOutboxRig(storage);
  const db = storage.tables<MessagingTables>();
  const campaignsDb = storage.tables<CampaignTables>();
  const { delivery } = await outbox.process();
  const { workspaceId } = outbox;
  const running: WebhookDelivery[] = [];
  const webhooks = createWebhooks({
    db,
    guard: createTargetGuard({ allowPrivate: true }),
    sealing,
    onChanged: () => {
      for (const one of running) one.wake();
    },
  });
  return {
    db,
    campaignsDb,
    workspaceId,
    webhooks,
    outbox,
    async deliver({ timing, allowPrivate = true, resolve, sealing: own } = {}) {
      const one = createWebhookDelivery({
        db,
        guard: createTargetGuard({ allowPrivate, resolve }),
        sealing: own ?? sealing,
        outside: createPhaseChanges({ db: campaignsDb }),
        log,
        timing,
      });
      running.push(one);
      await one.start();
      return one;
    },
    async accept(count) {
      const messages = Array.from({ length: count }, () => outbox.sms(newId('uid'), { sendAt: TOMORROW }));
      await delivery.acceptMany(workspaceId, messages);
    },
    async deliveries(webhookId, state) {
      const found: DeliveryRecord[] = [];
      let cursor: string | undefined;
      do {
        const page = await webhooks.deliveries(workspaceId, webhookId, { state, cursor, limit: 1_000 });
        found.push(...page.deliveries);
        cursor = page.next ?? undefined;
      } while (cursor !== undefined);
      return found;
    },
    async stop() {
      for (const one of running) await one.stop();
      await db.updateTable('webhooks').set({ deleted_at: new Date(), disabled_at: new Date() }).execute();
      await outbox.stop();
    },
  };
}

/** Scheduled messages have one event, and no provider's answers come in between. */
const TOMORROW = new Date(Date.now() + 86_400_000).toISOString();
