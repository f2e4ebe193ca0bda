import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { wantsMessages } from '../../domain/webhook';
import type { Log } from '../../log';
import type { Sealing } from '../access/sealing';
import type { MessagingTables } from '../model/tables';
import {
  type ClaimedDelivery,
  claimDue,
  type EndedAttempt,
  endpointsWithDue,
  recordAttempts,
  type WebhookTiming,
} from './attempts';
import { EndpointRooms } from './endpoint-rooms';
import { type Endpoint, fanOutMessages, fanOutOutside, readEndpoints } from './fan-out';
import { inTurns } from './group-turns';
import type { OutsideEvents } from './outside-events';
import { createWebhookPoster, type PostOutcome, type WebhookPoster } from './post';
import { openSecrets } from './sealed-secrets';
import { type SigningSecret, signatureHeaders } from './signature';
import type { TargetGuard } from './target-guard';

/**
 * Delivers events to endpoints. One loop per process, of four steps:
 *
 *   record   the attempts that have ended, by one statement
 *   look     every `webhookLookMs`, for endpoints and for new events of the feeds and of campaigns
 *   fan out  new events into rows of deliveries (fan-out.ts)
 *   claim    due deliveries, of each endpoint as many as it has room for, and send them without waiting
 *
 * Several processes may run it, because every step is a statement that only one of them wins. Without endpoints,
 * it costs two small queries every `webhookIdleLookMs`, however many messages are sent. Each endpoint has its own
 * room (endpoint-rooms.ts), and workspaces take turns in every step, so that slow endpoints do not delay others.
 */
export interface WebhookDelivery {
  /** Calls the loop before its next look. */
  wake(): void;
  start(): Promise<void>;
  /** Lets running attempts end, for 5 seconds at most. Attempts that run longer are repeated later. */
  stop(): Promise<void>;
}

export interface WebhookDeliveryDeps {
  db: Kysely<MessagingTables>;
  guard: TargetGuard;
  sealing: Sealing;
  outside?: OutsideEvents | undefined;
  log: Log;
  /** Shorter in tests. */
  timing?: Partial<WebhookTiming> | undefined;
}

const DRAIN_MS = 5_000;

const NO_SECRET: PostOutcome = {
  success: false,
  status: null,
  code: 'no_secret',
  answer: null,
  retryAfterMs: null,
};

export function createWebhookDelivery(deps: WebhookDeliveryDeps): WebhookDelivery {
  return new EndpointDelivery(deps);
}

class EndpointDelivery implements WebhookDelivery {
  private readonly timing: WebhookTiming;
  private readonly poster: WebhookPoster;
  private readonly rooms = new EndpointRooms();
  /** When each endpoint's events were last turned into deliveries, as a count of pages. */
  private readonly servedAt = new Map<string, number>();
  private pages = 0;
  private readonly underWay = new Set<Promise<void>>();
  private endpoints: Endpoint[] = [];
  /** Endpoints that may have due deliveries: all of them at a look; between two looks, those known to have some. */
  private maybeDue = new Set<string>();
  private ended: EndedAttempt[] = [];
  private readonly toldForeign = new Set<string>();
  private lookedAt = Number.NEGATIVE_INFINITY;
  private stopped = false;
  private running: Promise<void> | undefined;
  private isWoken = false;

  constructor(private readonly deps: WebhookDeliveryDeps) {
    this.timing = { scale: 1, answerMs: LIMITS.webhookAnswerMs, ...deps.timing };
    this.poster = createWebhookPoster(deps.guard, this.timing.answerMs);
  }

  readonly wake: WebhookDelivery['wake'] = () => {
    this.lookedAt = Number.NEGATIVE_INFINITY;
    this.wakeLoop();
  };

  readonly start: WebhookDelivery['start'] = async () => {
    this.running = this.run();
  };

  readonly stop: WebhookDelivery['stop'] = async () => {
    this.stopped = true;
    this.wakeLoop();
    await this.running;
    const giveUp = new AbortController();
    const patience = delay(DRAIN_MS, undefined, { signal: giveUp.signal }).catch(() => undefined);
    await Promise.race([Promise.all(this.underWay), patience]);
    giveUp.abort();
    await this.record();
    this.poster.close();
  };

  private wakeUp = () => {};

  private wakeLoop(): void {
    this.isWoken = true;
    this.wakeUp();
  }

  private async run(): Promise<void> {
    while (!this.stopped) {
      try {
        await this.turn();
      } catch (error) {
        this.deps.log.warn({ err: error }, 'Webhook deliveries could not be processed; trying again');
        // Look for due deliveries of all endpoints again.
        this.lookedAt = Number.NEGATIVE_INFINITY;
        await this.pause(LIMITS.webhookIdleLookMs);
      }
      if (!this.stopped) await this.pause(this.nextLookMs());
    }
  }

  private readonly lookMs = () =>
    this.endpoints.length > 0 ? LIMITS.webhookLookMs : LIMITS.webhookIdleLookMs;

  private readonly nextLookMs = () => Math.max(0, this.lookedAt + this.lookMs() - performance.now());

  /** Waits until it is woken, and then a moment longer, because attempts end in crowds. */
  private async pause(ms: number): Promise<void> {
    if (!this.isWoken && ms > 0) {
      await new Promise<void>((done) => {
        const timer = setTimeout(done, ms);
        this.wakeUp = () => {
          clearTimeout(timer);
          done();
        };
      });
    }
    if (this.isWoken && !this.stopped) await delay(LIMITS.webhookLingerMs);
    this.isWoken = false;
    this.wakeUp = () => {};
  }

  private async turn(): Promise<void> {
    await this.record();
    if (this.nextLookMs() === 0) await this.look();
    await this.claim();
  }

  private async record(): Promise<void> {
    const batch = this.ended;
    if (batch.length === 0) return;
    this.ended = [];
    try {
      const disabled = await recordAttempts(this.deps.db, batch, this.timing);
      for (const one of disabled) this.deps.log.warn(one, 'Disabled a webhook');
    } catch (error) {
      this.ended = [...batch, ...this.ended];
      throw error;
    }
  }

  private async look(): Promise<void> {
    const outside = this.deps.outside ? await this.deps.outside.read(LIMITS.webhookCampaignEvents) : [];
    this.endpoints = await readEndpoints(this.deps.db);
    const at = performance.now();
    this.tellOfForeign(this.endpoints);
    this.rooms.forgetOthers(this.endpoints);
    const known = new Set(this.endpoints.map(({ id }) => id));
    for (const id of this.servedAt.keys()) if (!known.has(id)) this.servedAt.delete(id);
    this.maybeDue = new Set(this.endpoints.filter(this.isOurs).map(({ id }) => id));
    if (this.deps.outside && outside.length > 0)
      await fanOutOutside(this.deps.db, this.deps.outside, outside, this.endpoints);
    const more = (await this.fanOut(at)) || outside.length === LIMITS.webhookCampaignEvents;
    // With more to read, the next look follows at once, after the due deliveries are sent.
    this.lookedAt = more ? Number.NEGATIVE_INFINITY : at;
  }

  /** One page of events for each endpoint in turn, until the time for it is over. Returns whether there are more. */
  private async fanOut(beganAt: number): Promise<boolean> {
    const waiting = this.endpoints.filter(
      ({ lastSeq, afterSeq, events }) => lastSeq > afterSeq && wantsMessages(events),
    );
    const inOrder = inTurns(waiting, {
      groupOf: ({ workspaceId }) => workspaceId,
      costOf: ({ id }) => this.servedAt.get(id) ?? 0,
    });
    let more = false;
    for (const endpoint of inOrder) {
      if (this.stopped) return false;
      if (performance.now() - beganAt > LIMITS.webhookFanOutMs) return true;
      more = (await this.fanOutPage(endpoint)) || more;
      this.servedAt.set(endpoint.id, ++this.pages);
    }
    return more;
  }

  private readonly isOurs = ({ keyId }: Endpoint) =>
    keyId !== null && this.deps.sealing.keyIds.includes(keyId);

  /** Logs endpoints that only processes with another key can serve. */
  private tellOfForeign(all: readonly Endpoint[]): void {
    const foreign = all.filter((endpoint) => !this.isOurs(endpoint) && !this.toldForeign.has(endpoint.id));
    if (foreign.length === 0) return;
    for (const { id } of foreign) this.toldForeign.add(id);
    const keyIds = [...new Set(foreign.map(({ keyId }) => keyId))];
    this.deps.log.warn(
      { webhooks: foreign.length, keyIds },
      'Webhooks wait for a process that has the key of their secrets',
    );
  }

  private async fanOutPage(endpoint: Endpoint): Promise<boolean> {
    const behind = endpoint.keptFrom - 1 - endpoint.afterSeq;
    if (behind > 0)
      this.deps.log.warn(
        { webhookId: endpoint.id, missed: behind },
        'A webhook missed events that are no longer kept',
      );
    return (await fanOutMessages(this.deps.db, endpoint)).more;
  }

  private async claim(): Promise<void> {
    if (this.stopped) return;
    const wanting = this.endpoints.filter(({ id, isPaused }) => this.maybeDue.has(id) && !isPaused);
    const given = this.rooms.give(await this.withDue(wanting));
    const claimed = await claimDue(this.deps.db, given, this.deps.sealing.keyIds);
    const found = new Map<string, number>();
    for (const { webhookId } of claimed) found.set(webhookId, (found.get(webhookId) ?? 0) + 1);
    for (const { webhookId, room } of given) {
      if ((found.get(webhookId) ?? 0) < room) this.maybeDue.delete(webhookId);
    }
    for (const delivery of claimed) this.send(delivery);
  }

  /** With many endpoints, finds those with due deliveries first, so that the others take no room. */
  private async withDue(wanting: readonly Endpoint[]): Promise<readonly Endpoint[]> {
    if (wanting.length <= LIMITS.webhookRoomsUnasked) return wanting;
    const ids = wanting.map(({ id }) => id);
    const due = await endpointsWithDue(this.deps.db, ids);
    for (const id of ids) if (!due.has(id)) this.maybeDue.delete(id);
    return wanting.filter(({ id }) => due.has(id));
  }

  private send(delivery: ClaimedDelivery): void {
    const { webhookId, workspaceId } = delivery;
    const leave = this.rooms.enter({ id: webhookId, workspaceId });
    const sending = this.attempt(delivery).then((outcome) => {
      this.ended.push({ delivery, outcome });
      leave();
      this.maybeDue.add(webhookId);
      this.underWay.delete(sending);
      this.wakeLoop();
    });
    this.underWay.add(sending);
  }

  private async attempt(delivery: ClaimedDelivery): Promise<PostOutcome> {
    const { id, url, body } = delivery;
    const headers = signatureHeaders({ id, body }, this.secretsOf(delivery), Date.now());
    return headers ? this.poster.post(url, headers, body) : NO_SECRET;
  }

  /** Empty where they cannot be decrypted, because no request may leave unsigned or with a wrong signature. */
  private secretsOf({ webhookId, keyId, sealed }: ClaimedDelivery): SigningSecret[] {
    try {
      return openSecrets(this.deps.sealing, webhookId, { keyId, sealed });
    } catch (error) {
      this.deps.log.warn({ err: error, webhookId }, 'A webhook has no secret that can be opened; rotate it');
      return [];
    }
  }
}
