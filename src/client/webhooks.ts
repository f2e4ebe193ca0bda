import { type Calls, type KeyedOptions, type RequestOptions, route } from './calls';

/** Addresses of yours that events are delivered to. */
export class Webhooks {
  constructor(private readonly calls: Calls) {}

  list(options: RequestOptions = {}): AsyncGenerator<Webhook, void, undefined> {
    return this.calls.byPage('/api/webhook', { limit: 100 }, options);
  }

  /** The secret is in this answer and in no other. */
  create(webhook: WebhookInput, options: KeyedOptions = {}): Promise<WebhookWithSecret> {
    return this.calls.once('/api/webhook', webhook, options);
  }

  read(id: string, options: RequestOptions = {}): Promise<Webhook> {
    return this.calls.get(route`/api/webhook/${id}`, options);
  }

  change(
    id: string,
    change: Partial<WebhookInput> & { enabled?: boolean },
    options: RequestOptions = {},
  ): Promise<Webhook> {
    return this.calls.patch(route`/api/webhook/${id}`, change, options);
  }

  delete(id: string, options: RequestOptions = {}): Promise<{ id: string }> {
    return this.calls.delete(route`/api/webhook/${id}`, options);
  }

  /** For a while deliveries are signed with the old secret too. */
  rotateSecret(id: string, options: KeyedOptions = {}): Promise<WebhookWithSecret> {
    return this.calls.once(route`/api/webhook/${id}/rotate-secret`, {}, options);
  }

  /** Delivers an event that means nothing. */
  test(id: string, options: KeyedOptions = {}): Promise<WebhookDelivery> {
    return this.calls.once(route`/api/webhook/${id}/test`, {}, options);
  }

  /** Newest first. */
  deliveries(
    id: string,
    options: RequestOptions & { state?: WebhookDelivery['state']; pageSize?: number } = {},
  ): AsyncGenerator<WebhookDelivery, void, undefined> {
    const { state, pageSize = 100 } = options;
    return this.calls.byCursor(route`/api/webhook/${id}/deliveries`, { limit: pageSize, state }, options);
  }

  redeliver(id: string, deliveryId: string, options: RequestOptions = {}): Promise<WebhookDelivery> {
    return this.calls.once(route`/api/webhook/${id}/deliveries/${deliveryId}/redeliver`, {}, options);
  }

  /** All that failed, or those since a time. While `more` is true there are more than one call takes. */
  redeliverFailed(
    id: string,
    options: RequestOptions & { since?: string } = {},
  ): Promise<{ redelivered: number; more: boolean }> {
    const { since } = options;
    const body = since === undefined ? {} : { since };
    return this.calls.once(route`/api/webhook/${id}/redeliver`, body, options);
  }
}

export interface WebhookInput {
  url: string;
  /** `*`, `message.*`, `campaign.*` or types of events. */
  events: string[];
  description?: string | null;
}

export interface Webhook {
  id: string;
  url: string;
  events: string[];
  description: string | null;
  enabled: boolean;
  disabledAt: string | null;
  disabledReason: 'gone' | 'failing' | 'user' | null;
  failingSince: string | null;
  pausedUntil: string | null;
  lastSuccessAt: string | null;
  oldSecretValidTill: string | null;
  /** Deliveries that are to be made; events of the feed behind those; events deleted before they were read. */
  pending: number;
  unread: number;
  missed: number;
  createdAt: string;
  updatedAt: string;
}

export type WebhookWithSecret = Webhook & { secret: string };

export interface WebhookDelivery {
  /** What the receiver gets as `webhook-id`. */
  id: string;
  type: string;
  sequence: number | null;
  state: 'pending' | 'delivered' | 'failed';
  attempts: number;
  status: number | null;
  code: string | null;
  answer: string | null;
  dueAt: string | null;
  lastAttemptAt: string | null;
  createdAt: string;
}
