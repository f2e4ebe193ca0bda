import { appendFileSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import {
  ApiClient,
  campaignDetail,
  createList,
  createSmsCampaign,
  createSmsTemplate,
} from '../support/api-client';
import { type FanfareProcess, type Place, readCredentials, untilReady } from '../support/fanfare-process';
import { recordOf, withPlace } from './campaign-rig';
import { median, note, numberOption, option, percentile, round2, startProduct } from './rig';
import { type Reading, Readings } from './soak-samples';

/**
 * An installation under mixed load for `--minutes N`: campaigns at `--rate N` recipients a second, single transactional
 * messages, imports, what a console reads, webhooks, and a kill of the whole process every `--kill N` minutes of the first
 * half; in the second half one process lives on, so that what grows slowly shows. What it samples every ten seconds (memory of
 * ours, of Temporal and of PostgreSQL, CPU, connections, the size of the database, dead rows, how long requests take) goes to the
 * file of `--out` as CSV; the answer compares the last third with the one before. Needs DATABASE_URL.
 */
const MINUTES_DEFAULT = 60;
const RATE_DEFAULT = 200;
const KILL_MINUTES_DEFAULT = 10;
const CAMPAIGN_SECONDS = 20;
const SAMPLE_MS = 10_000;
const SINGLE_MS = 200;
const CONSOLE_MS = 1_000;
const IMPORT_MS = 30_000;
const IMPORTED = 1_000;
const END_LIMIT_MS = 5 * 60_000;

interface Sample extends Reading {
  second: number;
  requestP95Ms: number;
  failures: number;
}

export async function soakPart(): Promise<unknown> {
  return withPlace(async (place) => {
    if (!place.env.DATABASE_URL) throw new Error('Set DATABASE_URL for this part');
    place.env.FANFARE_WEBHOOK_ALLOW_PRIVATE = 'true';
    const soak = new Soak(place, (numberOption('--minutes') ?? MINUTES_DEFAULT) * 60_000);
    return soak.run();
  });
}

class Soak {
  private fanfare!: FanfareProcess;
  private api!: ApiClient;
  private readonly samples: Sample[] = [];
  private readonly campaigns: string[] = [];
  private tookMs: number[] = [];
  private failures = 0;
  private kills = 0;
  private singles = 0;
  private delivered = 0;
  private endsAt = 0;

  constructor(
    private readonly place: Place,
    private readonly lengthMs: number,
  ) {}

  async run(): Promise<unknown> {
    const sink = await this.listen();
    await this.start();
    try {
      await this.api.expect('POST', '/api/webhook', {
        url: `http://127.0.0.1:${(sink.address() as AddressInfo).port}/`,
        events: ['campaign.*'],
      });
      const template = await createSmsTemplate(this.api);
      this.endsAt = Date.now() + this.lengthMs;
      await Promise.all([
        this.sendCampaigns(template),
        this.every(SINGLE_MS, () => this.sendSingle(template)),
        this.every(CONSOLE_MS, () => this.read()),
        this.every(IMPORT_MS, () => createList(this.api, IMPORTED, `i${Date.now()}-`, 5_000_000)),
        this.killNowAndThen(),
        this.sample(),
      ]);
      return await this.conclude();
    } finally {
      await this.api.close();
      await this.fanfare.stop();
      sink.closeAllConnections();
      sink.close();
    }
  }

  private async start(): Promise<void> {
    this.fanfare = startProduct(this.place);
    await untilReady(this.fanfare);
    await this.api?.close();
    this.api = new ApiClient(this.fanfare.baseUrl, readCredentials(this.place));
  }

  /** A receiver of webhooks, which is slow now and then. */
  private async listen(): Promise<Server> {
    const server = createServer((request, response) => {
      request.resume().on('end', () => {
        this.delivered += 1;
        setTimeout(() => response.end(), this.delivered % 10 === 0 ? 500 : 0);
      });
    });
    await new Promise<void>((done) => void server.listen(0, '127.0.0.1', done));
    return server;
  }

  /** One after the other, until the time is over; the process may be away meanwhile. */
  private async every(ms: number, work: () => Promise<unknown>): Promise<void> {
    while (Date.now() < this.endsAt) {
      const begun = performance.now();
      await work().then(
        () => this.tookMs.push(performance.now() - begun),
        () => {
          this.failures += 1;
        },
      );
      await delay(Math.max(0, ms - (performance.now() - begun)));
    }
  }

  private async sendCampaigns(template: string): Promise<void> {
    const perSecond = numberOption('--rate') ?? RATE_DEFAULT;
    const list = await createList(this.api, perSecond * CAMPAIGN_SECONDS, 'soak');
    while (Date.now() < this.endsAt) {
      const begun = Date.now();
      const campaign = await createSmsCampaign(this.api, list, template, {
        delivery: { ratePerSecond: perSecond },
      }).catch(() => undefined);
      if (campaign === undefined) await delay(500);
      else {
        this.campaigns.push(campaign);
        await delay(Math.max(0, CAMPAIGN_SECONDS * 1_000 - (Date.now() - begun)));
      }
    }
  }

  private async sendSingle(template: string): Promise<void> {
    await this.api.expect('POST', '/send-msg', {
      ...{ channel: 'sms', uid: `soak-${this.singles++}`, to: '+12025550143', from: '12345' },
      ...{ 'template-id': template, params: { NAME: 'Ada' }, class: 'transactional' },
    });
  }

  private async read(): Promise<void> {
    await this.api.expect('GET', '/api/overview');
    const campaign = this.campaigns.at(-1);
    if (campaign) {
      await campaignDetail(this.api, campaign);
      await this.api.expect('GET', `/api/campaign/${campaign}/recipients?limit=100`);
    }
  }

  private async killNowAndThen(): Promise<void> {
    const everyMs = (numberOption('--kill') ?? KILL_MINUTES_DEFAULT) * 60_000;
    const until = this.endsAt - this.lengthMs / 2;
    for (let at = Date.now() + everyMs; at <= until; at += everyMs) {
      await delay(Math.max(0, at - Date.now()));
      await this.fanfare.killGroup();
      this.kills += 1;
      await this.start();
    }
  }

  private async sample(): Promise<void> {
    const startedAt = Date.now();
    const readings = new Readings(this.place, this.place.env.DATABASE_URL ?? '');
    while (Date.now() < this.endsAt) {
      await delay(SAMPLE_MS);
      const sample: Sample = {
        second: Math.round((Date.now() - startedAt) / 1_000),
        ...(await readings.take(this.fanfare.pid)),
        requestP95Ms: Math.round(percentile(this.tookMs, 0.95)),
        failures: this.failures,
      };
      this.tookMs = [];
      this.samples.push(sample);
      this.append(sample);
    }
  }

  /** Written at once, so that what was measured survives an end in the middle. */
  private append(sample: Sample): void {
    const file = option('--out');
    note(JSON.stringify(sample));
    if (!file) return;
    if (this.samples.length === 1) writeFileSync(file, `${Object.keys(sample).join()}\n`);
    appendFileSync(file, `${Object.values(sample).join()}\n`);
  }

  private async conclude(): Promise<unknown> {
    const counts = await this.untilEnded();
    const [first] = this.samples;
    const third = Math.floor(this.samples.length / 3);
    const [before, last] = [this.samples.slice(-2 * third, -third), this.samples.slice(-third)];
    const grew = (name: keyof Sample) =>
      round2(median(last.map((one) => one[name])) / median(before.map((one) => one[name])));
    const record = recordOf(this.place, 'sms');
    const growth = (this.samples.at(-1)?.databaseMb ?? 0) - (first?.databaseMb ?? 0);
    const sent = (this.samples.at(-1)?.handOvers ?? 0) - (first?.handOvers ?? 0);
    return {
      minutes: this.lengthMs / 60_000,
      ...{
        campaigns: this.campaigns.length,
        singles: this.singles,
        kills: this.kills,
        webhooks: this.delivered,
      },
      handOvers: record.handOvers,
      twice: record.duplicates.length + record.duplicateUids.length,
      ...counts,
      failures: this.failures,
      lastThirdToTheOneBefore: {
        memory: grew('memoryMb'),
        temporal: grew('temporalMb'),
        postgres: grew('postgresMb'),
        cpu: grew('cpuPercent'),
        deadPercent: grew('deadPercent'),
        connections: grew('connections'),
        requestP95: grew('requestP95Ms'),
      },
      bytesPerMessage: Math.round((growth * 1e6) / sent),
    };
  }

  /** Of all campaigns, how many recipients have no end, and how many an unknown one. */
  private async untilEnded(): Promise<{ open: number; unknown: number; recipients: number }> {
    const deadline = Date.now() + END_LIMIT_MS;
    for (;;) {
      const total = { open: 0, unknown: 0, recipients: 0 };
      for (const campaign of this.campaigns) {
        const { phase, counts } = await campaignDetail(this.api, campaign);
        const { total: all = 0, pending = 0, waiting = 0, sending = 0, accepted = 0 } = counts.sms ?? {};
        total.recipients += all;
        total.unknown += counts.sms?.unknown ?? 0;
        total.open += phase === 'completed' ? pending + waiting + sending + accepted : Math.max(1, all);
      }
      if (total.open === 0 || Date.now() > deadline) return total;
      await delay(1_000);
    }
  }
}
