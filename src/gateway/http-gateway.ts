import type { Channel } from '../domain/channel';
import { LIMITS } from '../domain/limits';
import type { MessageEvent } from '../domain/message';
import type { MessageStory } from '../domain/message-history';
import type { SendingFinding, SendingQuestion } from '../domain/sending-question';
import { findListedTemplate, findOwnTemplate } from './find-template';
import type {
  CancelAnswer,
  Capability,
  Gateway,
  OutgoingMessage,
  RoomKind,
  SendAnswer,
  TemplateInfo,
} from './gateway';
import { inBulks, toBody } from './message-body';
import { type FreeRoom, type OutboxAnswer, OutboxRoom, roomOf } from './outbox-room';
import { bulkAnswers, lostAnswer, messageAnswer, NOT_SENT, strangeAnswer } from './send-answer';
import { SendThread } from './send-thread';
import { ServiceCalls, type ServiceOptions } from './service-calls';
import { SingleSends } from './single-sends';
import type { Token } from './token-source';
import { type HttpAnswer, isUnexpected, refusal, UnexpectedResponses } from './transport';

export interface GatewayOptions extends ServiceOptions {
  /** Shared by the gateways of a process. */
  sendThread?: SendThread | undefined;
}

export function openGateway(options: GatewayOptions): Gateway {
  return new HttpGateway(options);
}

class HttpGateway implements Gateway {
  private readonly service: ServiceCalls;
  /** By whether the service knows our additions. */
  private readonly sends = new Map<boolean, SingleSends>();
  private readonly thread: SendThread;
  readonly room = new OutboxRoom(() => this.askRoom());
  private readonly strangeSends = new UnexpectedResponses();

  constructor(private readonly options: GatewayOptions) {
    this.service = new ServiceCalls(options);
    this.thread = options.sendThread ?? new SendThread();
  }

  async capabilities(): Promise<ReadonlySet<Capability>> {
    const known = new Set((await this.service.tokens.get()).capabilities as Capability[]);
    if (!known.has('bulk')) this.singleSends(known.size > 0);
    return known;
  }

  async findTemplate(
    channel: Channel,
    templateId: string,
    version: number,
  ): Promise<TemplateInfo | undefined> {
    const known = await this.capabilities();
    return known.size
      ? findOwnTemplate(this.service, channel, templateId, version)
      : findListedTemplate(this.service, channel, templateId);
  }

  async checkSending({
    templateId,
    version,
    class: kind,
    ...of
  }: SendingQuestion): Promise<SendingFinding[]> {
    const known = await this.capabilities();
    if (!known.has('checks')) return [];
    const query = new URLSearchParams({
      ...of,
      'template-id': templateId,
      ...(version === undefined ? {} : { version: String(version) }),
      ...(kind === undefined ? {} : { class: kind }),
    });
    const answer = await this.service.call('send', 'GET', `/send-msg/check?${query}`);
    if (answer.status !== 200) throw refusal('GET /send-msg/check', answer);
    return (answer.body as { data: { findings: SendingFinding[] } }).data.findings;
  }

  async send(messages: readonly OutgoingMessage[], stopped?: AbortSignal): Promise<SendAnswer[]> {
    const known = await this.capabilities();
    const [first] = messages;
    if (!first) return [];
    if (known.has('bulk') && messages.length > 1) return this.sendBulk(messages);
    if (stopped?.aborted) return messages.map(() => NOT_SENT);
    const extended = known.size > 0;
    if (messages.length === 1 && !stopped) return [await this.sendOne(first, extended)];
    const bodies = messages.map((message) => JSON.stringify(toBody(message, extended)));
    return this.singleSends(extended).send({ campaign: first.campaign ?? '', bodies, stopped });
  }

  async readEvents(
    after: string,
    limit: number,
    waitSeconds: number,
  ): Promise<{ events: MessageEvent[]; next: string }> {
    const query = new URLSearchParams({ limit: String(limit), wait: String(waitSeconds) });
    if (after) query.set('after', after);
    const timeoutMs = waitSeconds * 1000 + LIMITS.gatewayTimeoutMs;
    const answer = await this.service.call('send', 'GET', `/events?${query}`, { timeoutMs });
    // The reader was away for longer than the service keeps events. Read the events that are left, because
    // otherwise it would never get any.
    if (answer.status === 410 && after) return this.readEvents('', limit, waitSeconds);
    if (answer.status !== 200) throw refusal('GET /events', answer);
    const body = answer.body as { data: MessageEvent[]; next: string };
    return { events: body.data, next: body.next };
  }

  async stories(uids: readonly string[]): Promise<MessageStory[]> {
    const query = new URLSearchParams({ uids: uids.join(' ') });
    const answer = await this.service.call('send', 'GET', `/stories?${query}`, {
      timeoutMs: LIMITS.storyTimeoutMs,
    });
    if (answer.status !== 200) throw refusal('GET /stories', answer);
    return (answer.body as { data: MessageStory[] }).data;
  }

  private async askRoom(): Promise<ReadonlyMap<RoomKind, FreeRoom> | undefined> {
    const answer = await this.service.call('send', 'GET', '/outbox');
    return answer.status === 200 ? roomOf((answer.body as { data: OutboxAnswer }).data) : undefined;
  }

  async isHeld(campaign: string): Promise<boolean> {
    const path = `/holds/${encodeURIComponent(campaign)}`;
    const answer = await this.service.call('send', 'GET', path, { timeoutMs: LIMITS.storyTimeoutMs });
    if (answer.status === 404 || answer.status === 405) return false;
    if (answer.status !== 200) throw refusal('GET /holds', answer);
    return (answer.body as { data: { held: boolean } }).data.held;
  }

  async hold(campaign: string): Promise<void> {
    // What a paused campaign has in the outbox leaves room for the others. A service that does not know this ignores it.
    const answer = await this.service.call(
      'send',
      'PUT',
      `/holds/${encodeURIComponent(campaign)}?aside=true`,
    );
    if (answer.status >= 300) throw refusal('PUT /holds', answer);
  }

  async release(campaign: string): Promise<void> {
    const answer = await this.service.call('send', 'DELETE', `/holds/${encodeURIComponent(campaign)}`);
    if (answer.status >= 300 && answer.status !== 404) throw refusal('DELETE /holds', answer);
  }

  async waitingOf(campaign: string): Promise<string[]> {
    for (let cursor = ''; ; ) {
      const query = new URLSearchParams({ campaign, state: 'accepted' });
      if (cursor) query.set('cursor', cursor);
      const answer = await this.service.call('send', 'GET', `/messages?${query}`);
      if (answer.status !== 200) throw refusal('GET /messages', answer);
      const { data, next } = answer.body as { data: { uid: string }[]; next: string | null };
      // A page may be empty although others follow, because the service looks at so many messages for each.
      if (data.length > 0 || next === null) return data.map(({ uid }) => uid);
      cursor = next;
    }
  }

  async cancel(uid: string): Promise<CancelAnswer> {
    const answer = await this.service.call('send', 'DELETE', `/messages/${encodeURIComponent(uid)}`);
    if (answer.status === 404) return 'absent';
    if (answer.status === 409) return 'late';
    if (answer.status >= 300) throw refusal('DELETE /messages', answer);
    return 'canceled';
  }

  async close(): Promise<void> {
    for (const sends of this.sends.values()) sends.close();
    await this.service.close();
  }

  /** No async functions here and in ServiceCalls: five promises fewer for each message made single sends 3 % faster. */
  private sendOne(message: OutgoingMessage, extended: boolean): Promise<SendAnswer> {
    const body = JSON.stringify(toBody(message, extended));
    const call = { body, connections: sendsAtOnce(extended), isTraced: extended };
    return this.service
      .call('send', 'POST', '/send-msg', call)
      .then((answer) => this.meaning(answer), lostAnswer);
  }

  /** Sends the messages one request after the other, in as few as the service's limit for a body allows. */
  private async sendBulk(messages: readonly OutgoingMessage[]): Promise<SendAnswer[]> {
    const answers: SendAnswer[] = [];
    for (const bodies of inBulks(messages.map((message) => JSON.stringify(toBody(message, true))))) {
      try {
        const body = `{"messages":[${bodies.join(',')}]}`;
        const answer = await this.service.call('send', 'POST', '/send-msg/bulk', { body, isTraced: true });
        this.room.learn(answer);
        answers.push(...bulkAnswers(answer, bodies.length, this.strange(answer)));
      } catch (error) {
        const lost = lostAnswer(error);
        answers.push(...bodies.map(() => lost));
      }
    }
    return answers;
  }

  private meaning(answer: HttpAnswer): SendAnswer {
    this.room.learn(answer);
    return this.strange(answer) ?? messageAnswer(answer);
  }

  /** The meaning of an answer that does not concern a message; undefined for an answer that may. */
  private strange(answer: HttpAnswer): SendAnswer | undefined {
    if (isUnexpected(answer)) return strangeAnswer(answer, this.strangeSends.note());
    // Below 500 the service itself has answered; above, a proxy on the way may have failed.
    if (answer.status < 500) this.strangeSends.over();
    return undefined;
  }

  /** Opened before the first message is sent, because the thread takes a moment to start. */
  private singleSends(extended: boolean): SingleSends {
    const known = this.sends.get(extended);
    if (known) return known;
    const deps = {
      tokens: this.service.tokens,
      headers: (token: Token) => this.service.headersWith('send', token, extended),
      meaning: (answer: HttpAnswer) => this.meaning(answer),
    };
    const pool = this.thread.openPool(this.options.sendUrl, sendsAtOnce(extended));
    const opened = new SingleSends(deps, pool);
    this.sends.set(extended, opened);
    return opened;
  }
}

/** Requests to the send endpoint that are under way at the same time. */
function sendsAtOnce(extended: boolean): number {
  return extended ? LIMITS.sendConcurrencyKnown : LIMITS.sendConcurrency;
}
