import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { LIMITS } from '../../domain/limits';
import { wantsMessages } from '../../domain/webhook';
import type { Log } from '../../log';
import type { Sealing } from '../access/sealing';
import type { MessagingTables } from '../tables';
import {
  type ClaimedDelivery,
  claimDue,
  type EndedAttempt,
  recordAttempts,
  type WebhookTiming,
} from './attempts';
import { type Endpoint, fanOutMessages, fanOutOutside, readEndpoints } from './fan-out';
import type { OutsideEvents } from './ports';
import { createWebhookPoster, type PostOutcome, type WebhookPoster } from './post';
import { openSecrets } from './sealed-secrets';
import { type SigningSecret, signatureHeaders } from './signature';
import type { TargetGuard } from './target-guard';

/**
 * Tells endpoints what happens. One loop per process, of four steps:
 *
 *   record   attempts that have ended since, by one statement
 *   look     which endpoints there are, and what is new in the feeds and elsewhere: every `webhookLookMs`
 *   fan out  new events into rows of deliveries (fan-out.ts)
 *   claim    what is due, of each endpoint as much as it has room for, and send it without waiting for the end
 *
 * Several processes may run it: every step is a statement that only one of them wins. Where there is no endpoint,
 * all of it is two small queries every `webhookIdleLookMs`, whatever is sent. An endpoint that does not answer
 * occupies its own places and nobody else's.
 */
export interface WebhookDelivery {
  /** Something is to be done before the next look. */
  wake(): void;
  start(): Promise<void>;
  /** Lets attempts under way end, for 5 seconds at most. What is still under way then is made again. */
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
/** Pages of one endpoint's events in a row, before the others have theirs. */
const FAN_OUT_PAGES = 4;

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
  const inFlight = new Map<string, number>();
  const underWay = new Set<Promise<void>>();
  let endpoints: Endpoint[] = [];
  /** Endpoints that may have something due: all at a look, between two looks those of which it is known. */
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
        log.warn({ err: error }, 'Webhooks could not be looked after; trying again');
        // Whatever was due is looked for again.
        lookedAt = Number.NEGATIVE_INFINITY;
        await pause(LIMITS.webhookIdleLookMs);
      }
      if (!stopped) await pause(nextLookMs());
    }
  }

  const lookMs = () => (endpoints.length > 0 ? LIMITS.webhookLookMs : LIMITS.webhookIdleLookMs);
  const nextLookMs = () => Math.max(0, lookedAt + lookMs() - performance.now());

  /** Until it is woken, and then a moment longer: attempts end in crowds. */
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
    maybeDue = new Set(endpoints.filter(isOurs).map(({ id }) => id));
    if (outside && news.length > 0) await fanOutOutside(db, outside, news, endpoints);
    let more = news.length === LIMITS.webhookCampaignEvents;
    for (const endpoint of endpoints) {
      if (stopped) break;
      if (endpoint.lastSeq > endpoint.afterSeq && wantsMessages(endpoint.events)) {
        more = (await fanOutPages(endpoint)) || more;
      }
    }
    // With more to read it looks again at once, after what is due has been sent off.
    lookedAt = more ? Number.NEGATIVE_INFINITY : at;
  }

  const isOurs = ({ keyId }: Endpoint) => keyId !== null && sealing.keyIds.includes(keyId);

  /** Left to processes that have the key. */
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

  async function fanOutPages(endpoint: Endpoint): Promise<boolean> {
    const behind = endpoint.keptFrom - 1 - endpoint.afterSeq;
    if (behind > 0)
      log.warn({ webhookId: endpoint.id, missed: behind }, 'A webhook missed events by their age');
    for (let page = 0; page < FAN_OUT_PAGES; page++) {
      const { more } = await fanOutMessages(db, endpoint);
      if (!more || stopped) return false;
    }
    return true;
  }

  async function claim(): Promise<void> {
    if (stopped) return;
    const rooms = roomsOf(endpoints.filter(({ id }) => maybeDue.has(id)));
    const claimed = await claimDue(db, rooms, sealing.keyIds);
    const found = new Map<string, number>();
    for (const { webhookId } of claimed) found.set(webhookId, (found.get(webhookId) ?? 0) + 1);
    for (const { webhookId, room } of rooms) {
      if ((found.get(webhookId) ?? 0) < room) maybeDue.delete(webhookId);
    }
    for (const delivery of claimed) send(delivery);
  }

  /** The least busy first, so that what is left of all places is divided evenly. */
  function roomsOf(wanting: readonly Endpoint[]): { webhookId: string; room: number }[] {
    const now = Date.now();
    const isFailing = ({ failingSince }: Endpoint) =>
      failingSince !== null && failingSince.getTime() <= now - LIMITS.webhookFailingMs;
    const busy = (some: readonly Endpoint[]) =>
      some.reduce((sum, { id }) => sum + (inFlight.get(id) ?? 0), 0);
    let left = LIMITS.webhookInFlightAll - underWay.size;
    let leftForFailing = LIMITS.webhookInFlightAllFailing - busy(endpoints.filter(isFailing));
    const rooms: { webhookId: string; room: number }[] = [];
    const inOrder = [...wanting].sort((a, b) => (inFlight.get(a.id) ?? 0) - (inFlight.get(b.id) ?? 0));
    for (const endpoint of inOrder) {
      if (endpoint.isPaused) continue;
      const failing = isFailing(endpoint);
      const most = failing ? LIMITS.webhookInFlightFailing : LIMITS.webhookInFlight;
      const room = Math.min(most - (inFlight.get(endpoint.id) ?? 0), failing ? leftForFailing : left, left);
      if (room <= 0) continue;
      left -= room;
      if (failing) leftForFailing -= room;
      rooms.push({ webhookId: endpoint.id, room });
    }
    return rooms;
  }

  function send(delivery: ClaimedDelivery): void {
    const { webhookId } = delivery;
    inFlight.set(webhookId, (inFlight.get(webhookId) ?? 0) + 1);
    const sending = attempt(delivery).then((outcome) => {
      ended.push({ delivery, outcome });
      const rest = (inFlight.get(webhookId) ?? 1) - 1;
      if (rest > 0) inFlight.set(webhookId, rest);
      else inFlight.delete(webhookId);
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

  /** None where they cannot be opened: nothing leaves unsigned, or signed with something else. */
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
