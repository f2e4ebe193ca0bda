import {
  claimSend,
  lookAtSend,
  recordSend,
  type SendClaim,
  type SendResult,
  type SendState,
} from '../src/campaigns/sends/claim-sends';
import { FeedAsks } from '../src/campaigns/watch/followed-workspaces';
import { callOptions } from '../src/domain/call-options';
import { ERRORS, type ErrorCode, isDomainError } from '../src/domain/errors';
import { sendMessageUid } from '../src/domain/ids';
import { LIMITS } from '../src/domain/limits';
import type { Capability, Gateway, OutgoingMessage, SendAnswer } from '../src/gateway/gateway';
import type { ActivityDeps } from './deps';
import { pause } from './heartbeat';

interface SendInput {
  sendId: string;
}

type Service = { gateway: Gateway; able: ReadonlySet<Capability> } | { refused: ErrorCode };

/** Delay before an idempotent service whose answer was lost is asked again, and one that has no message to cancel. */
const ASK_AGAIN_MS = 1_000;

/** A request of ours has ended by then, with an answer or without. */
const MAY_ARRIVE_MS = LIMITS.gatewayTimeoutMs + 5_000;

/** The steps of a durable send: some reach the service, the others only read its row. */
export function durableSendActivities({ db, gatewayFor, callTimes }: ActivityDeps) {
  const feeds = new FeedAsks(db);

  return {
    /** Updates the row by what its own state implies. Answers `act` when the service must be asked next. */
    async lookAtSend({ sendId }: SendInput): Promise<SendState> {
      return lookAtSend(db, sendId, callTimes);
    },

    /** Takes the next step of the send, and returns the state after it. */
    async actOnSend({ sendId }: SendInput): Promise<SendState> {
      const turn = await lookAtSend(db, sendId, callTimes);
      if (turn.kind !== 'act') return turn;
      // Every step that can fail before a message leaves comes before the claim, because the claim puts the
      // send in doubt.
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
      // The token was missing, so that nothing was sent.
      .catch((): SendAnswer[] => [
        { kind: 'later', code: 'dependency_down', retryAfterMs: 1_000, because: 'down' },
      ]);
    return resultOf(answer ?? { kind: 'unknown' }, { idempotent, follow: able.has('events') });
  }

  async function callBack({ row }: SendClaim, service: Service): Promise<SendResult> {
    if ('refused' in service || !service.able.has('holds')) return notCalledBack(row);
    const uid = sendMessageUid(row.id, row.attempt);
    let answer = await service.gateway.cancel(uid);
    // The request of an attempt that was given up may reach the service yet, and would be taken after this one's end.
    const untilMs = Date.now() + MAY_ARRIVE_MS;
    while (answer === 'absent' && row.accepted_at === null && Date.now() < untilMs) {
      await pause(ASK_AGAIN_MS);
      answer = await service.gateway.cancel(uid);
    }
    return answer === 'late' ? { kind: 'late' } : { kind: 'end', state: 'canceled', attempted: false };
  }

  /**
   * Gets a token. A refusal that a person must mend is returned as an answer; an outage is thrown, so that the
   * caller waits.
   */
  async function reach(workspaceId: string): Promise<Service> {
    try {
      const gateway = gatewayFor(workspaceId);
      const able = await gateway.capabilities();
      // Ask for the feed before sending, so that it is followed when the outcome arrives.
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

/** Whether the service has one in doubt is known only by offering it once more, which would send what was canceled. */
const notCalledBack = ({ accepted_at: acceptedAt, state }: SendClaim['row']): SendResult =>
  acceptedAt === null && state !== 'sent' ? ANSWER_LOST : { kind: 'late' };

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
      // Routes and templates change for campaigns; the caller of a single send gets an error instead.
      if (answer.code === ('not_possible' satisfies ErrorCode))
        return { kind: 'end', state: 'rejected', code: answer.code, attempted: true };
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
