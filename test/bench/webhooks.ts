import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import {
  type ApiClient,
  createList,
  createSmsCampaign,
  createSmsTemplate,
  untilPhase,
} from '../support/api-client';
import { freePort } from '../support/free-port';
import { ROOT } from '../support/root';
import { type CampaignBench, recordOf, untilStill, withFanfare, withPlace } from './campaign-rig';
import { cpuMs, median, note, numberOption, rate, round2 } from './rig';
import type { WebhookSinkCounts } from './webhook-sink';

/**
 * What webhooks cost a campaign: the same campaign with no endpoint, with one that takes every `message.*`, with
 * one at a port where nobody listens, and with one that takes the request and never answers. Each round has all
 * four, beginning with another; rates are from the campaign's creation to the last hand-over, CPU that of the
 * process. `--contacts N` and `--rounds N` are the size.
 */
const CONTACTS_DEFAULT = 5_000;
const ROUNDS_DEFAULT = 4;
const LIMIT_MS = 10 * 60_000;

const KINDS = ['none', 'healthy', 'refusing', 'silent'] as const;
type Kind = (typeof KINDS)[number];

export async function webhooksPart(): Promise<unknown> {
  const sink = fork(join(ROOT, 'dist/test/bench/webhook-sink.js'));
  const [{ port }] = (await once(sink, 'message')) as [{ port: number }];
  const urls: Partial<Record<Kind, string>> = {
    healthy: `http://127.0.0.1:${port}/`,
    silent: `http://127.0.0.1:${port}/silent`,
    refusing: `http://127.0.0.1:${await freePort()}/`,
  };
  try {
    return await withPlace((place) => {
      place.env.FANFARE_WEBHOOK_ALLOW_PRIVATE = 'true';
      return withFanfare(place, (bench) => measure(bench, sink, urls));
    });
  } finally {
    sink.disconnect();
  }
}

/** A second, and milliseconds for a recipient. */
interface Result {
  perSecond: number;
  cpuMs: number;
  /** Of the healthy one. */
  deliveries: number;
  deliveriesPerSecond: number;
}

async function measure(
  bench: CampaignBench,
  sink: ChildProcess,
  urls: Partial<Record<Kind, string>>,
): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const templateId = await createSmsTemplate(bench.api);
  const listId = await createList(bench.api, contacts);
  const run = (kind: Kind) =>
    campaignWith(bench, sink, kind, { listId, templateId, contacts, url: urls[kind] });
  note('warming up');
  await run('none');
  const results: Record<Kind, Result>[] = [];
  for (let round = 0; round < rounds; round++) {
    const found = new Map<Kind, Result>();
    for (let i = 0; i < KINDS.length; i++) {
      const kind = KINDS[(round + i) % KINDS.length] as Kind;
      note(`round ${round + 1} of ${rounds}: ${contacts}, endpoint: ${kind}`);
      found.set(kind, await run(kind));
    }
    results.push(Object.fromEntries(found) as Record<Kind, Result>);
  }
  return summary(contacts, results);
}

async function campaignWith(
  { api, place, pid }: CampaignBench,
  sink: ChildProcess,
  kind: Kind,
  { listId, templateId, contacts, url }: Campaign,
): Promise<Result> {
  await look(sink);
  const webhookId = url === undefined ? undefined : await createWebhook(api, url);
  const before = recordOf(place, 'sms').handOvers;
  const [startedAt, cpuBefore] = [Date.now(), cpuMs(pid).all];
  const id = await createSmsCampaign(api, listId, templateId);
  await untilPhase(api, id, ['completed'], LIMIT_MS);
  // The simulator refuses a share of addresses, so not every message becomes a hand-over.
  const { lastAt } = await untilStill(place, 'sms', before + Math.floor(contacts * 0.9));
  if (webhookId !== undefined && kind === 'healthy') await untilTold(api, webhookId);
  const cpu = cpuMs(pid).all - cpuBefore;
  const told = await look(sink);
  if (webhookId !== undefined) await api.expect('DELETE', `/api/webhook/${webhookId}`);
  return {
    perSecond: rate(contacts, Date.parse(lastAt ?? '') - startedAt),
    cpuMs: cpu / contacts,
    deliveries: told.taken,
    deliveriesPerSecond: told.taken > 0 ? rate(told.taken, told.lastAt - startedAt) : 0,
  };
}

interface Campaign {
  listId: string;
  templateId: string;
  contacts: number;
  url: string | undefined;
}

async function createWebhook(api: ApiClient, url: string): Promise<string> {
  const body = { url, events: ['message.*'] };
  return (await api.expect<{ data: { id: string } }>('POST', '/api/webhook', body)).data.id;
}

const LOOK_MS = 100;
/** Receipts come for a while after the last hand-over. */
const QUIET_LOOKS = 10;

async function untilTold(api: ApiClient, webhookId: string): Promise<void> {
  for (let quiet = 0; quiet < QUIET_LOOKS; ) {
    await new Promise((done) => setTimeout(done, LOOK_MS));
    const { data } = await api.expect<{ data: { pending: number; unread: number } }>(
      'GET',
      `/api/webhook/${webhookId}`,
    );
    quiet = data.pending + data.unread === 0 ? quiet + 1 : 0;
  }
}

async function look(sink: ChildProcess): Promise<WebhookSinkCounts> {
  const told = once(sink, 'message');
  sink.send('look');
  return ((await told) as [WebhookSinkCounts])[0];
}

function summary(contacts: number, rounds: Record<Kind, Result>[]) {
  const of = (kind: Kind) => {
    const ratios = rounds.map((round) => round2(round[kind].perSecond / round.none.perSecond));
    const results = rounds.map((round) => round[kind]);
    return {
      perSecond: Math.round(median(results.map(({ perSecond }) => perSecond))),
      cpuMsPerRecipient: round2(median(results.map(({ cpuMs: ms }) => ms))),
      ...(kind === 'none' ? {} : { ratio: median(ratios), ratios }),
    };
  };
  const healthy = rounds.map((round) => round.healthy);
  return {
    contacts,
    ...Object.fromEntries(KINDS.map((kind) => [kind, of(kind)])),
    deliveries: median(healthy.map(({ deliveries }) => deliveries)),
    deliveriesPerSecond: Math.round(median(healthy.map((one) => one.deliveriesPerSecond))),
    cpuMsPerDelivery: round2(
      median(
        rounds.map(
          (round) => ((round.healthy.cpuMs - round.none.cpuMs) * contacts) / round.healthy.deliveries,
        ),
      ),
    ),
  };
}
