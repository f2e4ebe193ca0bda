import {
  type OpenPage,
  offerChunk,
  type PageRecipient,
  type RecipientResult,
  recordChunk,
  takePage,
  withdrawOffer,
} from '../src/campaigns/ledger';
import { loadRun, type RunPlan } from '../src/campaigns/runs';
import type { Control } from '../src/domain/campaign';
import type { Channel } from '../src/domain/channel';
import { DomainError } from '../src/domain/errors';
import { messageUid } from '../src/domain/ids';
import { LIMITS } from '../src/domain/limits';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import type { OutgoingMessage, SendAnswer } from '../src/gateway/gateway';
import type { ActivityDeps } from './deps';
import { stopIfCancelled } from './heartbeat';
import { partByHours } from './hours';

export interface SendPageInput {
  runId: string;
  channel: Channel;
  shard: number;
  lane: number;
  /** How many recipients a newly opened page may hold. */
  size: number;
}

export type SendPageOutcome =
  | { kind: 'sent'; size: number; durationMs: number }
  /** Nothing to do now; after `waitMs` there may be, without it there will not. */
  | { kind: 'idle'; waitMs?: number }
  /** The service takes nothing for the moment; the page stays open. */
  | { kind: 'backoff'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

/**
 * Sends one page of a shard: the ledger's protocol (src/campaigns/ledger.ts) around the service's send
 * endpoint. Each recipient settles by itself; what concerns everybody stops the page between chunks.
 */
export function sendActivities({ db, gatewayFor }: ActivityDeps) {
  return {
    async sendPage(input: SendPageInput): Promise<SendPageOutcome> {
      const run = await loadRun(db, input.runId);
      const open = openHours(run.options, input.channel).nextForAll(Date.now());
      const taking = await takePage(db, input, input.size, new Date(open));
      if (taking.kind === 'stopped') return taking;
      if (taking.kind === 'idle') return idle(taking.until);
      return sendOpenPage(run, taking.page);
    },
  };

  async function sendOpenPage(run: RunPlan, page: OpenPage): Promise<SendPageOutcome> {
    const startedAt = performance.now();
    const gateway = gatewayFor(run.workspaceId);
    const able = await gateway.capabilities();
    const hours = openHours(run.options, page.channel);
    const chunk = able.has('bulk') ? LIMITS.chunkRecipients : LIMITS.singleChunkRecipients;
    if (page.offered > page.resolved && !able.has('idempotent')) await giveUpDoubtful(page);
    while (page.resolved < page.size) {
      stopIfCancelled();
      const { ready, held } = partByHours(await offerChunk(db, page, chunk), hours);
      const messages = ready.map((recipient) => toMessage(run, page, recipient));
      const answers = messages.length > 0 ? await gateway.send(messages) : [];
      const wait = everybodyWaits(answers, able.has('idempotent'));
      if (wait) {
        await withdrawOffer(db, page);
        if (wait.kind === 'account') {
          throw new DomainError(
            'invalid_client',
            `The messaging service refuses our account (${wait.code}); check the credentials`,
          );
        }
        return { kind: 'backoff', waitMs: wait.retryAfterMs };
      }
      const now = Date.now();
      const results = ready.map((recipient, i) =>
        resultOf(recipient, answers[i] as SendAnswer, now, able.has('idempotent')),
      );
      const control = await recordChunk(db, page, [...held, ...results]);
      if (control !== 'run' && page.resolved < page.size) return { kind: 'stopped', control };
    }
    return { kind: 'sent', size: page.size, durationMs: Math.round(performance.now() - startedAt) };
  }

  /**
   * The former attempt died while these were on their way, to a service that would send them twice if
   * asked twice: nobody knows, and the ledger says so.
   */
  async function giveUpDoubtful(page: OpenPage): Promise<void> {
    const recipients = await offerChunk(db, page, page.offered - page.resolved);
    await recordChunk(
      db,
      page,
      recipients.map(({ seq }) => ({ seq, state: 'unknown', code: 'answer_lost', attempted: true })),
    );
  }
}

function idle(until: Date | undefined): SendPageOutcome {
  return until ? { kind: 'idle', waitMs: Math.max(0, until.getTime() - Date.now()) } : { kind: 'idle' };
}

function toMessage(run: RunPlan, page: OpenPage, recipient: PageRecipient): OutgoingMessage {
  const settings = run.settings[page.channel];
  if (!settings)
    throw new DomainError('invalid_request', `Campaign ${run.campaignId} has no ${page.channel} settings`);
  return {
    uid: messageUid({ runId: page.runId, channel: page.channel, seq: recipient.seq }, recipient.attempt),
    channel: page.channel,
    to: recipient.address,
    from: settings.from,
    templateId: settings.templateId,
    version: settings.version,
    params: recipient.params,
    campaign: run.campaignId,
    class: run.options.class,
  };
}

/** Set when not one message of the chunk was taken or judged, so that the reason is nobody's own. */
function everybodyWaits(
  answers: readonly SendAnswer[],
  idempotent: boolean,
): { kind: 'later' | 'account'; code: string; retryAfterMs: number } | undefined {
  let found: { kind: 'later' | 'account'; code: string; retryAfterMs: number } | undefined;
  for (const answer of answers) {
    if (answer.kind === 'account') found = { ...answer, retryAfterMs: 0 };
    else if (answer.kind === 'later') found ??= answer;
    else if (answer.kind === 'unknown' && idempotent) found ??= ASK_AGAIN;
    else return undefined;
  }
  return found;
}

/** An idempotent service may simply be asked again. */
const UNKNOWN_RETRY_MS = 1_000;
const ASK_AGAIN = { kind: 'later', code: 'answer_lost', retryAfterMs: UNKNOWN_RETRY_MS } as const;

function resultOf(
  recipient: PageRecipient,
  answer: SendAnswer,
  now: number,
  idempotent: boolean,
): RecipientResult {
  const { seq } = recipient;
  switch (answer.kind) {
    case 'accepted':
      return { seq, state: 'accepted', attempted: true };
    case 'suppressed':
      return { seq, state: 'suppressed', attempted: false };
    case 'rejected':
      return { seq, state: 'rejected', code: answer.code, attempted: true };
    case 'later':
      return {
        seq,
        state: 'waiting',
        code: answer.code,
        retryAt: new Date(now + answer.retryAfterMs),
        attempted: false,
      };
    case 'account':
      return { seq, state: 'waiting', code: answer.code, retryAt: new Date(now), attempted: false };
    case 'unknown':
      return idempotent
        ? {
            seq,
            state: 'waiting',
            code: 'answer_lost',
            retryAt: new Date(now + UNKNOWN_RETRY_MS),
            attempted: false,
          }
        : { seq, state: 'unknown', code: 'answer_lost', attempted: true };
  }
}
