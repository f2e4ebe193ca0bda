import { readHandOvers } from '../../src/providers/simulator/simulator-record';
import { type CampaignDetail, campaignDetail } from './api-client';
import type { Installation } from './installation';
import { until } from './until';

export interface StagedDetail extends Omit<CampaignDetail, 'reason'> {
  runId: string;
  reason: unknown;
  release: {
    stage: number;
    of: number;
    next: string | null;
    judged: { stage: number; metric: string; value: number; sample: number; passed: boolean; at: string }[];
  };
}

type Channel = 'email' | 'sms' | 'voice';
export interface Contact {
  externalId: string;
  email?: string;
  phone?: string;
}

const BODIES = {
  email: { subject: 'Hello', body: '<p>Hello</p>' },
  sms: { body: 'Hello' },
  voice: {
    body: '<Response><Answer/><Say>Hello</Say></Response>',
    voiceJson: {
      nodes: [{ id: '1', type: 'text', data: { isStart: true, isEndNode: true, text: 'Hello' } }],
      edges: [],
      viewport: { x: 0, y: 0, zoom: 1 },
    },
  },
};
const SENDERS = { email: 'fromEmail', sms: 'shortCode', voice: 'callerId' };
const FROM = { email: 'news@example.com', sms: '12345', voice: '+12025550100' };

/** Campaigns that are released in stages, on a whole installation, and what its carrier knows of them. */
export class StagedCampaigns {
  private readonly templates: Partial<Record<Channel, string>> = {};

  constructor(private readonly here: Installation) {}

  /** A campaign to contacts of a list of its own; answers its id. */
  async start(channel: Channel[], contacts: Contact[], more: object): Promise<string> {
    const { api } = this.here;
    const { data: list } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: `${channel.join(' and ')} ${Date.now()}`,
    });
    const path = `/api/contact-list/${list.id}/contacts`;
    const { data } = await api.expect<{ data: { rejected: number } }>('POST', path, { contacts });
    if (data.rejected > 0) throw new Error(`import: ${JSON.stringify(data)}`);
    for (const one of channel) this.templates[one] ??= await this.template(one);
    const body = {
      ...{ campaignId: null, name: 'in stages', channel, contactListId: [list.id] },
      settings: Object.fromEntries(
        channel.map((one) => [
          one,
          { [SENDERS[one]]: FROM[one], templateId: this.templates[one], version: 1 },
        ]),
      ),
      ...more,
    };
    return (await api.expect<{ data: { id: string } }>('POST', '/api/campaign', body)).data.id;
  }

  private async template(channel: Channel): Promise<string> {
    const { template } = await this.here.api.expect<{ template: { id: string } }>('POST', '/api/template/', {
      templateName: `${channel} ${Date.now()}`,
      channel,
      ...BODIES[channel],
    });
    return template.id;
  }

  detail = async (id: string) => (await campaignDetail(this.here.api, id)) as unknown as StagedDetail;

  /** Follows the campaign until it is as told. */
  async until(id: string, what: string, is: (detail: StagedDetail) => boolean, limitMs = 60_000) {
    let seen = await this.detail(id);
    await until(
      what,
      async () => {
        seen = await this.detail(id);
        return is(seen);
      },
      limitMs,
      50,
    ).catch((error: unknown) => {
      throw new Error(`${String(error)}: ${JSON.stringify({ ...seen, counts: seen.counts })}`);
    });
    return seen;
  }

  /** What the carrier took of the campaign's run, in order. */
  async taken(id: string, channel: Channel): Promise<{ uid: string; atMs: number; to: string }[]> {
    const { runId } = await this.detail(id);
    return [...readHandOvers(this.here.recordDir, channel)]
      .filter(({ uid }) => uid.startsWith(`${runId}.`))
      .map(({ uid, at, to }) => ({ uid, atMs: Date.parse(at), to }));
  }

  act = (id: string, action: string, body?: unknown) =>
    this.here.api.call<{ data: StagedDetail; code?: string }>('POST', `/api/campaign/${id}/${action}`, body);
}

/** Contacts with an email address that the simulator treats as told, by their number. */
export function people(count: number, prefix: string, outcome: (i: number) => string): Contact[] {
  return Array.from({ length: count }, (_, i) => ({
    externalId: `${prefix}${i}`,
    email: `${prefix}${i}+${outcome(i)}@example.com`,
  }));
}
