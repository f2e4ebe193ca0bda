import type { Kysely } from 'kysely';
import { isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type KeywordAction, type KeywordReading, readKeyword } from '../../domain/opt-out-keywords';
import { LANGUAGES, type Language, PACKS } from '../../domain/opt-out-packs';
import { measureSms } from '../../domain/sms-encoding';
import { addressKey, senderKey } from '../../domain/suppression';
import type { Log } from '../../log';
import type { InboundSink, InboundSms } from '../../providers/provider';
import type { Draft } from '../model/outgoing';
import type { MessagingTables } from '../model/tables';
import type { Accept } from '../outbox/accept/accept';
import { shortHash } from '../outbox/accept/payload-hash';
import { flowOf } from '../outbox/queue/flow';
import { upsertSuppressions } from '../suppression/suppression-rows';
import {
  type Correspondent,
  findCorrespondents,
  insertInbound,
  liftKeyword,
  markReplied,
  type OwedReply,
  oweReply,
  readOwed,
  tellInbound,
} from './inbound-rows';

/**
 * Handles what subscribers write back (api.md 9), for every carrier; the one entry is `sinkOf`.
 *
 * The changes of a message, its event and the pending reply are in one transaction with the row that remembers
 * it. Killed before the commit, the carrier brings it again. Killed after it, the repetition changes nothing, and a sweep sends
 * the pending reply as the same message. SMPP alone has no ids, so that there it counts twice (docs/sms.md). The suppression thus
 * never waits for its reply.
 */
export interface InboundMessages {
  /** Resolves when the messages are stored, and the senders of a STOP are suppressed. */
  sinkOf(provider: string): InboundSink;
  start(): void;
  stop(): Promise<void>;
}

interface Deps {
  db: Kysely<MessagingTables>;
  acceptOwn: Accept['acceptOwn'];
  onEvents(workspaceId: string): void;
  log: Log;
  replyText?: ReplyText | undefined;
}

export type ReplyText = (workspaceId: string, kind: KeywordAction, language: Language) => Promise<string>;

const defaultText: ReplyText = async (_workspaceId, kind, language) => PACKS[language].texts[kind];

export function createInboundMessages(deps: Deps): InboundMessages {
  return new StoredInbound(deps);
}

class StoredInbound implements InboundMessages {
  private readonly replyText: ReplyText;
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;

  constructor(private readonly deps: Deps) {
    this.replyText = deps.replyText ?? defaultText;
  }

  readonly sinkOf: InboundMessages['sinkOf'] = (provider) => async (messages) => {
    // In order, because START after STOP means something else than before it.
    for (const sms of messages) await this.take(provider, sms);
  };

  readonly start: InboundMessages['start'] = () => {
    this.timer = setInterval(() => {
      this.sweeping ??= this.replyToAll().finally(() => {
        this.sweeping = undefined;
      });
    }, LIMITS.replySweepMs);
    this.timer.unref();
    this.sweeping = this.replyToAll().finally(() => {
      this.sweeping = undefined;
    });
  };

  readonly stop: InboundMessages['stop'] = async () => {
    clearInterval(this.timer);
    await this.sweeping;
  };

  private async take(provider: string, sms: InboundSms): Promise<void> {
    const reading = readingOf(sms);
    const taken = await this.deps.db.transaction().execute(async (tx) => {
      const id = await insertInbound(tx, provider, sms, reading.action);
      if (id === undefined) return undefined;
      const subscriber = phoneOf(sms.from);
      const reply = { provider, subscriber, senders: sendersOf(sms.to) };
      const correspondents = await findCorrespondents(tx, reply);
      const changed: Correspondent[] = [];
      const told: string[] = [];
      for (const one of correspondents) {
        if (await act(tx, one, subscriber, reading)) changed.push(one);
        if (one.target && (await tellInbound(tx, one.target, dataOf(reading)))) told.push(one.workspaceId);
      }
      const answering = newest(reading.action === 'help' ? correspondents : changed);
      // Where the carrier has answered already, a second answer would be one too many.
      const isOwed = answering !== undefined && sms.handledAs === undefined;
      if (isOwed && reading.action !== 'none') {
        const { workspaceId, sender } = answering;
        const { action: kind, language } = reading;
        await oweReply(tx, { id, kind, workspaceId, from: sender, to: subscriber, language });
      }
      return { id, told, isKnown: correspondents.length > 0, isOwed };
    });
    if (!taken) return;
    for (const workspaceId of taken.told) this.deps.onEvents(workspaceId);
    const { id } = taken;
    if (!taken.isKnown) {
      this.deps.log.warn(
        { inbound: id, action: reading.action },
        'An inbound SMS is for a sender that no workspace of its account has used',
      );
    } else if (reading.action !== 'none') {
      this.deps.log.info({ inbound: id, action: reading.action }, 'A subscriber sent a keyword');
    }
    if (taken.isOwed) await this.replyToAll(id);
  }

  /** The suppression is done already; a reply that cannot be sent now is sent later. */
  private async replyToAll(id?: string): Promise<void> {
    try {
      for (const owed of await readOwed(this.deps.db, id)) await this.reply(owed);
    } catch (error) {
      this.deps.log.warn({ err: error }, 'A reply to a keyword could not be sent; trying again');
    }
  }

  private async reply(owed: OwedReply): Promise<void> {
    const language = LANGUAGES.find((one) => one === owed.language) ?? 'en';
    const text = await this.replyText(owed.workspaceId, owed.kind, language);
    try {
      await this.deps.acceptOwn(owed.workspaceId, draftOf(owed, text));
    } catch (error) {
      // A process with another reply text had the message accepted, and died before it recorded that.
      if (!isDomainError(error) || error.code !== 'uid_conflict') throw error;
    }
    await markReplied(this.deps.db, owed.id);
  }
}

/** Returns whether the suppression has changed, because only a change is confirmed. */
async function act(
  tx: Parameters<typeof liftKeyword>[0],
  correspondent: Correspondent,
  subscriber: string,
  reading: KeywordReading,
): Promise<boolean> {
  const { workspaceId, sender } = correspondent;
  const address = addressKey(subscriber);
  if (reading.action === 'start') return liftKeyword(tx, correspondent, address);
  if (reading.action !== 'stop') return false;
  const reason = reading.match === 'exact' ? `SMS: ${reading.keyword}` : `SMS: ${reading.keyword} (fuzzy)`;
  const block = { channel: 'sms' as const, address, reason, sender };
  const { created } = await upsertSuppressions(tx, workspaceId, [block], 'keyword');
  return created > 0;
}

/** A carrier's list of keywords may be longer than ours: what it took for one is one. */
function readingOf({ text, handledAs }: InboundSms): KeywordReading {
  const reading = readKeyword(text);
  if (handledAs === undefined || reading.action === handledAs) return reading;
  return readKeyword(handledAs);
}

const dataOf = (reading: KeywordReading): Record<string, unknown> =>
  reading.action === 'none' ? { match: 'none' } : { keyword: reading.keyword, match: reading.match };

/** The workspace that wrote last answers for all that share the number, so that the subscriber gets one reply. */
function newest(correspondents: readonly Correspondent[]): Correspondent | undefined {
  return [...correspondents].sort((a, b) => ((a.target?.id ?? '') < (b.target?.id ?? '') ? 1 : -1))[0];
}

/** Carriers write a number with a plus, with two zeros, or without either. */
function phoneOf(from: string): string {
  const number = from.replace(/[\s().-]/g, '').replace(/^(?:\+|00)/, '');
  return /^[1-9]\d{6,14}$/.test(number) ? `+${number}` : from.trim();
}

/**
 * The forms in which a sender is compared; a name keeps its spaces. A number without a plus may be a short code
 * or a phone number, so both forms are searched.
 */
function sendersOf(to: string): string[] {
  const number = to.replace(/[\s().-]/g, '');
  if (/^\d+$/.test(number)) return [number, `+${number.replace(/^00/, '')}`];
  return [senderKey(number.startsWith('+') ? number : to.trim())];
}

const OF_REPLIES = { channel: 'sms', class: 'transactional', campaign: undefined } as const;

/** No API call asked for this message: it has no template, and we choose its uid. */
function draftOf(owed: OwedReply, text: string): Draft {
  const confirmsOptOut = owed.kind === 'stop' || undefined;
  const expiresAtMs = owed.receivedAt.getTime() + LIMITS.replyWithinMinutes * 60_000;
  return {
    id: owed.messageId,
    workspaceId: owed.workspaceId,
    uid: `reply.${owed.id}`,
    channel: OF_REPLIES.channel,
    to: owed.to,
    from: owed.from,
    templateId: undefined,
    templateVersion: undefined,
    subject: undefined,
    body: text,
    params: {},
    paramsJson: '{}',
    campaign: OF_REPLIES.campaign,
    class: OF_REPLIES.class,
    replyTo: undefined,
    voice: undefined,
    payloadHash: shortHash([owed.id, text]),
    ...measureSms(text),
    confirmsOptOut,
    state: 'accepted',
    sendAt: undefined,
    expiresAt: new Date(expiresAtMs).toISOString(),
    expiresAtMs,
    attempt: 0,
    flow: flowOf(owed.workspaceId, { ...OF_REPLIES, from: owed.from, confirmsOptOut }),
    size: 500 + text.length,
  };
}
