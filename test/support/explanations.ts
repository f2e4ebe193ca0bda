import { Pool } from 'pg';
import type { PersonExplanation } from '../../src/client/types';
import { createSmsTemplate } from './api-client';
import { Installation } from './installation';
import { until } from './until';

export const EXPLAINED_LIMIT_MS = 150_000;
/** What a page, the outbox and a busy machine add to the time that is told. */
export const LATE_MS = 8_000;

/** Campaigns on a whole installation, each to a person of its own, and what is told of that person. */
export class Explanations {
  private phones = 3_000_000;
  /** Reasons and steps that were told; a suite compares them with the catalogue at its end. */
  readonly seen = { whys: new Set<string>(), steps: new Set<string>() };

  private constructor(
    readonly here: Installation,
    readonly pool: Pool,
    readonly sms: string,
    readonly email: string,
  ) {}

  static async start(): Promise<Explanations> {
    const here = await Installation.start({ FANFARE_SIMULATOR_LATENCY_MS: '5' });
    const pool = new Pool({ connectionString: here.place.env.DATABASE_URL as string, max: 1 });
    const mail = {
      templateName: 'explained',
      channel: 'email',
      subject: 'Hello',
      body: '<p>Hello {{NAME}}</p>',
    };
    const { template } = await here.api.expect<{ template: { id: string } }>('POST', '/api/template/', mail);
    return new Explanations(here, pool, await createSmsTemplate(here.api), template.id);
  }

  async end(): Promise<void> {
    await this.pool.end();
    await this.here.remove();
  }

  newPhone = (): string => `+1202${++this.phones}`;

  /** So many persons with a name and a phone. */
  newPeople = (count: number): { phone: string; name: string }[] =>
    Array.from({ length: count }, () => ({ phone: this.newPhone(), name: 'P' }));

  private async list(contacts: object[]): Promise<string> {
    const { api } = this.here;
    const { data } = await api.expect<{ data: { id: string } }>('POST', '/api/contact-list', {
      name: 'Readers',
    });
    await api.expect('POST', `/api/contact-list/${data.id}/contacts`, { contacts });
    return data.id;
  }

  async campaign(
    contacts: object[],
    { channel = ['sms'], ...more }: { channel?: ('sms' | 'email')[] } & Record<string, unknown> = {},
  ): Promise<string> {
    const settings = {
      sms: { shortCode: '12345', templateId: this.sms, version: 1 },
      email: { fromEmail: 'news@example.com', templateId: this.email, version: 1 },
    };
    const { data } = await this.here.api.expect<{ data: { id: string } }>('POST', '/api/campaign', {
      ...{ campaignId: null, name: 'Spring', channel, contactListId: [await this.list(contacts)] },
      settings: Object.fromEntries(channel.map((one) => [one, settings[one]])),
      ...more,
    });
    return data.id;
  }

  act = (id: string, action: string): Promise<unknown> =>
    this.here.api.expect('POST', `/api/campaign/${id}/${action}`, {});

  async explain(id: string, to: string, more = ''): Promise<PersonExplanation> {
    const query = `/api/explain?campaign=${id}&to=${encodeURIComponent(to)}${more}`;
    const { data } = await this.here.api.expect<{ data: PersonExplanation }>('GET', query);
    for (const { what } of data.steps) this.seen.steps.add(what);
    return data;
  }

  untilTold = (
    id: string,
    to: string,
    what: string,
    is: (told: PersonExplanation) => boolean,
    more = '',
  ): Promise<PersonExplanation> =>
    until(
      what,
      async () => {
        const query = `/api/explain?campaign=${id}&to=${encodeURIComponent(to)}${more}`;
        const { status, body } = await this.here.api.call<{ data: PersonExplanation }>('GET', query);
        return status === 200 && is(body.data) && this.note(body.data);
      },
      EXPLAINED_LIMIT_MS,
    );

  untilWhy = (id: string, to: string, why: string): Promise<PersonExplanation> =>
    this.untilTold(id, to, `${to} waits: ${why}`, ({ next }) => next?.why === why);

  /** One of the campaign's recipients of whom it is told, whichever that is: stages are drawn. */
  untilOneWaits = (
    id: string,
    is: (told: PersonExplanation) => boolean,
  ): Promise<{ to: string; told: PersonExplanation }> =>
    until(
      'a recipient waits',
      async () => {
        const recipients = `/api/campaign/${id}/recipients?state=waiting`;
        const { data } = await this.here.api.expect<{ data: { address: string }[] }>('GET', recipients);
        for (const { address } of data) {
          const told = await this.explain(id, address);
          if (is(told)) return { to: address, told: this.note(told) };
        }
        return false;
      },
      EXPLAINED_LIMIT_MS,
    );

  private note(told: PersonExplanation): PersonExplanation {
    if (told.next) this.seen.whys.add(told.next.why);
    for (const { what } of told.steps) this.seen.steps.add(what);
    return told;
  }

  async untilHandedOver(id: string, to: string, more = ''): Promise<{ told: PersonExplanation; at: number }> {
    const isHandedOver = (one: PersonExplanation) => whats(one).includes('handed_over');
    const told = await this.untilTold(id, to, `${to} is handed over`, isHandedOver, more);
    return { told, at: timeOf(told, 'handed_over') };
  }

  /** The recipient goes on at the time that was told, and not before. */
  async expectOnTime(id: string, to: string, { next }: PersonExplanation, more = ''): Promise<void> {
    const due = Date.parse(next?.at ?? '');
    const { at } = await this.untilHandedOver(id, to, more);
    expect(at - due).toBeGreaterThan(-1_500);
    expect(at - due).toBeLessThan(LATE_MS);
  }
}

export const whats = ({ steps }: PersonExplanation): string[] => steps.map(({ what }) => what);

/** Of the last step of this kind. */
export const timeOf = ({ steps }: PersonExplanation, what: string): number =>
  Date.parse(steps.findLast((step) => step.what === what)?.at ?? '');

export const inAMoment = (ms: number): string => new Date(Date.now() + ms).toISOString();
