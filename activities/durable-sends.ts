import {
  claimSend,
  lookAtSend,
  recordSend,
  type SendClaim,
  type SendResult,
  type SendState,
} from '../src/campaigns/sends/claim-sends';
import { FeedAsks } from '../src/campaigns/watch/feed-asks';
import { callOptions } from '../src/domain/call-options';
import { ERRORS, type ErrorCode, isDomainError } from '../src/domain/errors';
import { sendMessageUid } from '../src/domain/ids';
import type { Capability, Gateway, OutgoingMessage, SendAnswer } from '../src/gateway/gateway';
import type { ActivityDeps } from './deps';

interface SendInput {
  sendId: string;
}

type Service = { gateway: Gateway; able: ReadonlySet<Capability> } | { refused: ErrorCode };

/** An idempotent service that lost its answer is asked again after this. */
const ASK_AGAIN_MS = 1_000;

/** The steps of a durable send that reach the service, and those that only look at its row. */
export function durableSendActivities({ db, gatewayFor, callTimes }: ActivityDeps) {
  const feeds = new FeedAsks(db);

  return {
    /** What follows from the row by itself, taken in; `act` when it is the service's turn. */
    async lookAtSend({ sendId }: SendInput): Promise<SendState> {
      return lookAtSend(db, sendId, callTimes);
    },

    /** The next thing to be done about the send, done. */
    async actOnSend({ sendId }: SendInput): Promise<SendState> {
      const turn = await lookAtSend(db, sendId, callTimes);
      if (turn.kind !== 'act') return turn;
      // All that can fail without a message having left comes before the claim, which puts the send in doubt.
      const service = await reach(turn.workspaceId);
      const claim = await claimSend(db, sendId, !('refused' in service), callTimes);
      if (!claim) return lookAtSend(db, sendId, callTimes);
      const result = await (claim.kind === 'send' ? send(claim, service) : callBack(claim, service));
      return recordSend(db, claim, result, callTimes);
    },
  };

  async function send(claim: SendClaim, service: Service): Promise<SendResult> {
    if ('refused' in service) return { kind: 'account', code: service.refused };
    const { gateway, able } = service;
    const idempotent = able.has('idempotent');
    if (claim.inDoubt && !idempotent) return ANSWER_LOST;
    const [answer] = await gateway
      .send([messageOf(claim)])
      // Thrown for want of a token, before anything was sent.
      .catch((): SendAnswer[] => [
        { kind: 'later', code: 'dependency_down', retryAfterMs: 1_000, because: 'down' },
      ]);
    return resultOf(answer ?? { kind: 'unknown' }, { idempotent, follow: able.has('events') });
  }

  async function callBack({ row }: SendClaim, service: Service): Promise<SendResult> {
    if ('refused' in service || !service.able.has('holds')) return { kind: 'late' };
    const answer = await service.gateway.cancel(sendMessageUid(row.id, row.attempt));
    return answer === 'late' ? { kind: 'late' } : { kind: 'end', state: 'canceled', attempted: false };
  }

  /** With a token at hand. What only a person can mend is an answer; an outage is waited for by who calls. */
  async function reach(workspaceId: string): Promise<Service> {
    try {
      const gateway = gatewayFor(workspaceId);
      const able = await gateway.capabilities();
      // Before the message, so that the feed is there when its outcome is.
      if (able.has('events')) await feeds.ask(workspaceId);
      return { gateway, able };
    } catch (error) {
      if (isDomainError(error) && ERRORS[error.code].retry === 'account') return { refused: error.code };
      throw error;
    }
  }
}

function messageOf({ row }: SendClaim): OutgoingMessage {
  const { content } = row;
  return {
    uid: sendMessageUid(row.id, row.attempt),
    channel: row.channel,
    to: content.to,
    from: content.from,
    templateId: content['template-id'],
    version: content.version,
    params: content.params ?? {},
    subject: content.subject,
    body: content.body,
    replyTo: content.replyTo,
    campaign: content.campaign,
    class: content.class,
    expiresAt: content.expiresAt,
    voice: callOptions(content.voice),
  };
}

const ANSWER_LOST: SendResult = { kind: 'end', state: 'unknown', code: 'answer_lost', attempted: true };

function resultOf(answer: SendAnswer, service: { idempotent: boolean; follow: boolean }): SendResult {
  switch (answer.kind) {
    case 'accepted':
      return { kind: 'accepted', follow: service.follow };
    case 'suppressed':
      return { kind: 'end', state: 'suppressed', attempted: false };
    case 'rejected':
      return { kind: 'end', state: 'rejected', code: answer.code, attempted: true };
    case 'account':
      return { kind: 'account', code: answer.code };
    case 'later': {
      const retry = ERRORS[answer.code as ErrorCode]?.retry ?? 'transient';
      const told = { code: answer.code, notBeforeMs: answer.retryAfterMs };
      return retry === 'throttled' ? { kind: 'throttled', ...told } : { kind: 'failed', ...told };
    }
    case 'unknown':
      return service.idempotent
        ? { kind: 'ask_again', code: 'answer_lost', afterMs: ASK_AGAIN_MS }
        : ANSWER_LOST;
  }
}
