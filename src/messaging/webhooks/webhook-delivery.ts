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
  const { db, guard, sealing, outside, log } = deps;
  const timing: WebhookTiming = { scale: 1, answerMs: LIMITS.webhookAnswerMs, ...deps.timing };
  const poster: WebhookPoster = createWebhookPoster(guard, timing.answerMs);
  const rooms = new EndpointRooms();
  /** When each endpoint's events were last turned into deliveries, as a count of pages. */
  const servedAt = new Map<string, number>();
  let pages = 0;
  const underWay = new Set<Promise<void>>();
  let endpoints: Endpoint[] = [];
  /** Endpoints that may have due deliveries: all of them at a look; between two looks, those known to have some. */
  let maybeDue = new Set<string>();
  let ended: EndedAttempt[] = [];
  const toldForeign = new Set<string>();
  let lookedAt = Number.NEGATIVE_INFINITY;
  let stopped = false;
  let running: Promise<void> | undefined;
  let wakeUp = () => {};
  let isWoken = false;

  function wake(): void {
    isWoken = true;
    wakeUp();
  }

  async function run(): Promise<void> {
    while (!stopped) {
      try {
        await turn();
      } catch (error) {
        log.warn({ err: error }, 'Webhook deliveries could not be processed; trying again');
        // Look for due deliveries of all endpoints again.
        lookedAt = Number.NEGATIVE_INFINITY;
        await pause(LIMITS.webhookIdleLookMs);
      }
      if (!stopped) await pause(nextLookMs());
    }
  }

  const lookMs = () => (endpoints.length > 0 ? LIMITS.webhookLookMs : LIMITS.webhookIdleLookMs);
  const nextLookMs = () => Math.max(0, lookedAt + lookMs() - performance.now());

  /** Waits until it is woken, and then a moment longer, because attempts end in crowds. */
  async function pause(ms: number): Promise<void> {
    if (!isWoken && ms > 0) {
      await new Promise<void>((done) => {
        const timer = setTimeout(done, ms);
        wakeUp = () => {
          clearTimeout(timer);
          done();
        };
      });
    }
    if (isWoken && !stopped) await delay(LIMITS.webhookLingerMs);
    isWoken = false;
    wakeUp = () => {};
  }

  async function turn(): Promise<void> {
    await record();
    if (nextLookMs() === 0) await look();
    await claim();
  }

  async function record(): Promise<void> {
    const batch = ended;
    if (batch.length === 0) return;
    ended = [];
    try {
      const disabled = await recordAttempts(db, batch, timing);
      for (const one of disabled) log.warn(one, 'Disabled a webhook');
    } catch (error) {
      ended = [...batch, ...ended];
      throw error;
    }
  }

  async function look(): Promise<void> {
    const news = outside ? await outside.read(LIMITS.webhookCampaignEvents) : [];
    endpoints = await readEndpoints(db);
    const at = performance.now();
    tellOfForeign(endpoints);
    rooms.forgetOthers(endpoints);
    const known = new Set(endpoints.map(({ id }) => id));
    for (const id of servedAt.keys()) if (!known.has(id)) servedAt.delete(id);
    maybeDue = new Set(endpoints.filter(isOurs).map(({ id }) => id));
    if (outside && news.length > 0) await fanOutOutside(db, outside, news, endpoints);
    const more = (await fanOut(at)) || news.length === LIMITS.webhookCampaignEvents;
    // With more to read, the next look follows at once, after the due deliveries are sent.
    lookedAt = more ? Number.NEGATIVE_INFINITY : at;
  }

  /** One page of events for each endpoint in turn, until the time for it is over. Returns whether there are more. */
  async function fanOut(beganAt: number): Promise<boolean> {
    const waiting = endpoints.filter(
      ({ lastSeq, afterSeq, events }) => lastSeq > afterSeq && wantsMessages(events),
    );
    const inOrder = inTurns(waiting, {
      groupOf: ({ workspaceId }) => workspaceId,
      costOf: ({ id }) => servedAt.get(id) ?? 0,
    });
    let more = false;
    for (const endpoint of inOrder) {
      if (stopped) return false;
      if (performance.now() - beganAt > LIMITS.webhookFanOutMs) return true;
      more = (await fanOutPage(endpoint)) || more;
      servedAt.set(endpoint.id, ++pages);
    }
    return more;
  }

  const isOurs = ({ keyId }: Endpoint) => keyId !== null && sealing.keyIds.includes(keyId);

  /** Logs endpoints that only processes with another key can serve. */
  function tellOfForeign(all: readonly Endpoint[]): void {
    const foreign = all.filter((endpoint) => !isOurs(endpoint) && !toldForeign.has(endpoint.id));
    if (foreign.length === 0) return;
    for (const { id } of foreign) toldForeign.add(id);
    const keyIds = [...new Set(foreign.map(({ keyId }) => keyId))];
    log.warn(
      { webhooks: foreign.length, keyIds },
      'Webhooks wait for a process that has the key of their secrets',
    );
  }

  async function fanOutPage(endpoint: Endpoint): Promise<boolean> {
    const behind = endpoint.keptFrom - 1 - endpoint.afterSeq;
    if (behind > 0)
      log.warn({ webhookId: endpoint.id, missed: behind }, 'A webhook missed events that are no longer kept');
    return (await fanOutMessages(db, endpoint)).more;
  }

  async function claim(): Promise<void> {
    if (stopped) return;
    const wanting = endpoints.filter(({ id, isPaused }) => maybeDue.has(id) && !isPaused);
    const given = rooms.give(await withDue(wanting));
    const claimed = await claimDue(db, given, sealing.keyIds);
    const found = new Map<string, number>();
    for (const { webhookId } of claimed) found.set(webhookId, (found.get(webhookId) ?? 0) + 1);
    for (const { webhookId, room } of given) {
      if ((found.get(webhookId) ?? 0) < room) maybeDue.delete(webhookId);
    }
    for (const delivery of claimed) send(delivery);
  }

  /** With many endpoints, finds those with due deliveries first, so that the others take no room. */
  async function withDue(wanting: readonly Endpoint[]): Promise<readonly Endpoint[]> {
    if (wanting.length <= LIMITS.webhookRoomsUnasked) return wanting;
    const ids = wanting.map(({ id }) => id);
    const due = await endpointsWithDue(db, ids);
    for (const id of ids) if (!due.has(id)) maybeDue.delete(id);
    return wanting.filter(({ id }) => due.has(id));
  }

  function send(delivery: ClaimedDelivery): void {
    const { webhookId, workspaceId } = delivery;
    const leave = rooms.enter({ id: webhookId, workspaceId });
    const sending = attempt(delivery).then((outcome) => {
      ended.push({ delivery, outcome });
      leave();
      maybeDue.add(webhookId);
      underWay.delete(sending);
      wake();
    });
    underWay.add(sending);
  }

  async function attempt(delivery: ClaimedDelivery): Promise<PostOutcome> {
    const { id, url, body } = delivery;
    const headers = signatureHeaders({ id, body }, secretsOf(delivery), Date.now());
    return headers ? poster.post(url, headers, body) : NO_SECRET;
  }

  /** Empty where they cannot be decrypted, because no request may leave unsigned or with a wrong signature. */
  function secretsOf({ webhookId, keyId, sealed }: ClaimedDelivery): SigningSecret[] {
    try {
      return openSecrets(sealing, webhookId, { keyId, sealed });
    } catch (error) {
      log.warn({ err: error, webhookId }, 'A webhook has no secret that can be opened; rotate it');
      return [];
    }
  }

  return {
    wake() {
      lookedAt = Number.NEGATIVE_INFINITY;
      wake();
    },
    async start() {
      running = run();
    },
    async stop() {
      stopped = true;
      wake();
      await running;
      const giveUp = new AbortController();
      const patience = delay(DRAIN_MS, undefined, { signal: giveUp.signal }).catch(() => undefined);
      await Promise.race([Promise.all(underWay), patience]);
      giveUp.abort();
      await record();
      poster.close();
    },
  };
}
