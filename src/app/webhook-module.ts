import type { CampaignTables } from '../campaigns/model/tables';
import { createPhaseChanges } from '../campaigns/reports/phase-changes';
import type { Config } from '../config';
import type { Log } from '../log';
import type { Sealing } from '../messaging/access/sealing';
import type { MessagingTables } from '../messaging/model/tables';
import { keepWebhookExpiry } from '../messaging/webhooks/deliveries';
import { createTargetGuard } from '../messaging/webhooks/target-guard';
import { createWebhookDelivery } from '../messaging/webhooks/webhook-delivery';
import { createWebhooks, type Webhooks } from '../messaging/webhooks/webhooks';
import type { Storage } from '../storage/storage';
import type { Shutdown } from './shutdown';

/** Webhooks out. Here the two halves meet: events of messages come from the feed, phases from the campaigns. */
export async function openWebhookModule(
  { config, storage, sealing, log }: { config: Config; storage: Storage; sealing: Sealing; log: Log },
  shutdown: Shutdown,
): Promise<Webhooks> {
  const db = storage.tables<MessagingTables>();
  const guard = createTargetGuard({ allowPrivate: config.webhookAllowPrivate });
  const outside = createPhaseChanges({ db: storage.tables<CampaignTables>() });
  const delivery = createWebhookDelivery({ db, guard, sealing, outside, log });
  shutdown.add('webhooks', () => delivery.stop());
  await delivery.start();
  const expiry = keepWebhookExpiry({ db, log });
  shutdown.add('webhook expiry', () => expiry.stop());
  return createWebhooks({ db, guard, sealing, onChanged: delivery.wake });
}
