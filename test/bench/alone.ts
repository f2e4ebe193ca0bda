import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ApiClient, createList, createSmsCampaign, untilPhase } from '../support/api-client';
import { readCredentials, untilReady } from '../support/fanfare-process';
import { ROOT } from '../support/root';
import { benchPlace, load, median, note, numberOption, rate, round2, startProduct } from './rig';
import type { SinkCounts } from './sink';

/**
 * The orchestrator alone: single sends to a service that knows only the specification and does nothing, a
 * campaign against a bare undici loop of fifty connections to that same sink in the same run. `perSecond` and
 * `ratio` count from the campaign's creation, its audience and workflows included; `sending` from the first
 * message to the last. `--contacts N` and `--rounds N` are the size.
 */
const CONTACTS_DEFAULT = 20_000;
const ROUNDS_DEFAULT = 3;
const LIMIT_MS = 5 * 60_000;

export async function alonePart(): Promise<unknown> {
  const contacts = numberOption('--contacts') ?? CONTACTS_DEFAULT;
  const rounds = numberOption('--rounds') ?? ROUNDS_DEFAULT;
  const sink = await Sink.start();
  const place = await benchPlace();
  for (const name of ['AUTH', 'SEND', 'APP']) place.env[`FANFARE_${name}_URL`] = sink.url;
  Object.assign(place.env, {
    FANFARE_CLIENT_ID: 'bench',
    FANFARE_CLIENT_SECRET: 'bench',
    FANFARE_API_KEY: 'bench',
    FANFARE_SESSION_COOKIE: 'bench',
  });
  const fanfare = startProduct(place);
  try {
    await untilReady(fanfare);
    const api = new ApiClient(fanfare.baseUrl, readCredentials(place));
    const listId = await createList(api, contacts);
    const results: Round[] = [];
    for (let i = 0; i < rounds; i++) {
      note(`round ${i + 1} of ${rounds}: ${contacts} by the bare loop, then by a campaign`);
      const bare = await bareRound(sink, contacts);
      await sink.forget();
      const startedAt = Date.now();
      const id = await createSmsCampaign(api, listId, 'tpl_1');
      await untilPhase(api, id, ['completed'], LIMIT_MS);
      const { messages, firstAt, lastAt } = await sink.look();
      if (messages !== contacts) throw new Error(`${messages} messages for ${contacts} contacts`);
      const whole = rate(contacts, lastAt - startedAt);
      const sending = rate(contacts, lastAt - firstAt);
      results.push({ bare, whole, sending });
    }
    await api.close();
    return summary(contacts, results);
  } finally {
    await fanfare.stop();
    sink.stop();
    await place.remove();
  }
}

/** Messages a second. */
interface Round {
  bare: number;
  whole: number;
  sending: number;
}

async function bareRound(sink: Sink, count: number): Promise<number> {
  const { ms } = await load({
    baseUrl: sink.url,
    token: 'bench',
    apiKey: 'bench',
    templateId: 'tpl_1',
    count,
    prefix: 'bare',
    connections: 50,
    perRequest: 1,
    pace: 0,
  });
  return rate(count, ms);
}

function summary(contacts: number, rounds: Round[]) {
  const ratios = rounds.map(({ whole, bare }) => round2(whole / bare));
  const sendingRatios = rounds.map(({ sending, bare }) => round2(sending / bare));
  return {
    contacts,
    barePerSecond: Math.round(median(rounds.map(({ bare }) => bare))),
    campaignPerSecond: Math.round(median(rounds.map(({ whole }) => whole))),
    sendingPerSecond: Math.round(median(rounds.map(({ sending }) => sending))),
    ratio: round2(median(ratios)),
    ratios,
    sendingRatio: round2(median(sendingRatios)),
    sendingRatios,
  };
}

class Sink {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(): Promise<Sink> {
    const child = fork(join(ROOT, 'dist/test/bench/sink.js'));
    const [{ port }] = (await once(child, 'message')) as [{ port: number }];
    return new Sink(child, `http://127.0.0.1:${port}`);
  }

  async look(): Promise<SinkCounts> {
    const told = once(this.child, 'message');
    this.child.send('look');
    return ((await told) as [SinkCounts])[0];
  }

  /** Messages arrive in order: what is asked after it finds nothing. */
  async forget(): Promise<void> {
    this.child.send('forget');
    await this.look();
  }

  stop(): void {
    this.child.disconnect();
  }
}
