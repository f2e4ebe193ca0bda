import { hash } from 'node:crypto';
import type { Kysely } from 'kysely';
import { isDomainError } from '../../domain/errors';
import { LIMITS } from '../../domain/limits';
import { type KeywordAction, type KeywordReading, readKeyword } from '../../domain/opt-out-keywords';
import { LANGUAGES, type Language, PACKS } from '../../domain/opt-out-packs';
import { measureSms } from '../../domain/sms-encoding';
import { addressKey, senderKey } from '../../domain/suppression';
import type { Log } from '../../log';
import type { InboundSink, InboundSms } from '../../providers/provider';
import type { Accept } from '../outbox/accept';
import type { Draft } from '../outbox/outgoing';
import { flowOf } from '../outbox/queue/flow';
import { upsertSuppressions } from '../suppression/suppression-rows';
import type { MessagingTables } from '../tables';
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
 * What subscribers write back (api.md 9), whoever carries it: the one entry is `sinkOf`.
 *
 * What a message changes, its event and the answer that is owed are one transaction with the row that knows it
 * as told. Killed before, the carrier tells it again; killed after, told again it changes nothing, and the
 * answer is sent by whoever finds it owed, as the same message. So a block does not wait for its answer.
 */
export interface InboundMessages {
  /** Resolves when they are stored, and who asked to be left alone is. */
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
  const { db, acceptOwn, onEvents, log, replyText = defaultText } = deps;
  let timer: NodeJS.Timeout | undefined;
  let sweeping: Promise<void> | undefined;

  async function take(provider: string, sms: InboundSms): Promise<void> {
    const reading = readKeyword(sms.text);
    const taken = await db.transaction().execute(async (tx) => {
      const id = await insertInbound(tx, provider, sms, reading.action);
      if (id === undefined) return undefined;
      const subscriber = phoneOf(sms.from);
      const correspondents = await findCorrespondents(tx, subscriber, sendersOf(sms.to));
      const changed: Correspondent[] = [];
      const told: string[] = [];
      for (const one of correspondents) {
        if (await act(tx, one, subscriber, reading)) changed.push(one);
        if (one.target && (await tellInbound(tx, one.target, dataOf(reading)))) told.push(one.workspaceId);
      }
      const answering = newest(reading.action === 'help' ? correspondents : changed);
      if (answering && reading.action !== 'none') {
        const { workspaceId, sender } = answering;
        const { action: kind, language } = reading;
        await oweReply(tx, { id, kind, workspaceId, from: sender, to: subscriber, language });
      }
      return { id, told, isKnown: correspondents.length > 0, isOwed: answering !== undefined };
    });
    if (!taken) return;
    for (const workspaceId of taken.told) onEvents(workspaceId);
    const { id } = taken;
    if (!taken.isKnown) {
      log.warn({ inbound: id, action: reading.action }, 'An SMS answers a sender that no workspace has used');
    } else if (reading.action !== 'none') {
      log.info({ inbound: id, action: reading.action }, 'A keyword was received');
    }
    if (taken.isOwed) await replyToAll(id);
  }

  /** The block is what was asked for, and it stands: an answer that cannot be sent now is sent later. */
  async function replyToAll(id?: string): Promise<void> {
    try {
      for (const owed of await readOwed(db, id)) await reply(owed);
    } catch (error) {
      log.warn({ err: error }, 'An answer to a keyword was not sent; trying again');
    }
  }

  async function reply(owed: OwedReply): Promise<void> {
    const language = LANGUAGES.find((one) => one === owed.language) ?? 'en';
    const text = await replyText(owed.workspaceId, owed.kind, language);
    try {
      await acceptOwn(owed.workspaceId, draftOf(owed, text));
    } catch (error) {
      // Accepted before by a process that wrote another text, and did not live to say so.
      if (!isDomainError(error) || error.code !== 'uid_conflict') throw error;
    }
    await markReplied(db, owed.id);
  }

  return {
    sinkOf: (provider) => async (messages) => {
      // In their order: START after STOP means something else than before.
      for (const sms of messages) await take(provider, sms);
    },
    start() {
      timer = setInterval(() => {
        sweeping ??= replyToAll().finally(() => {
          sweeping = undefined;
        });
      }, LIMITS.replySweepMs);
      timer.unref();
      sweeping = replyToAll().finally(() => {
        sweeping = undefined;
      });
    },
    async stop() {
      clearInterval(timer);
      await sweeping;
    },
  };
}

/** Answers whether the block is another than before, which is what is confirmed. */
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

const dataOf = (reading: KeywordReading): Record<string, unknown> =>
  reading.action === 'none' ? { match: 'none' } : { keyword: reading.keyword, match: reading.match };

/** Whoever wrote last speaks for all who share the number: a person is answered once. */
function newest(correspondents: readonly Correspondent[]): Correspondent | undefined {
  return [...correspondents].sort((a, b) => ((a.target?.id ?? '') < (b.target?.id ?? '') ? 1 : -1))[0];
}

/** Carriers write a number with a plus, with two zeros, or bare. */
function phoneOf(from: string): string {
  const number = from.replace(/[\s().-]/g, '').replace(/^(?:\+|00)/, '');
  return /^[1-9]\d{6,14}$/.test(number) ? `+${number}` : from.trim();
}

/**
 * As a sender is compared, a name with its spaces. A bare number may be a short code or a phone number: both are
 * looked for.
 */
function sendersOf(to: string): string[] {
  const number = to.replace(/[\s().-]/g, '');
  if (/^\d+$/.test(number)) return [number, `+${number.replace(/^00/, '')}`];
  return [senderKey(number.startsWith('+') ? number : to.trim())];
}

const OF_REPLIES = { channel: 'sms', class: 'transactional', campaign: undefined } as const;

/** Not asked for by anybody's API call: it has no template, and its uid is nobody's choice. */
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
    payloadHash: hash('sha256', JSON.stringify([owed.id, text]), 'base64url'),
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
