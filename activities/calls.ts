import {
  type CallEnding,
  type CallKey,
  endRecipient,
  holdCall,
  openCall,
  readCallEnding,
  recordStep,
  withdrawCall,
} from '../src/campaigns/calls';
import { offerChunk, recordChunk, takePage } from '../src/campaigns/ledger';
import { readCounts } from '../src/campaigns/ledger-counts';
import { loadRun } from '../src/campaigns/runs';
import {
  CALL_POLICY_DEFAULT,
  type CallOutcome,
  type CallPolicy,
  type CallStep,
} from '../src/domain/call-policy';
import type { Control } from '../src/domain/campaign';
import { DomainError } from '../src/domain/errors';
import { messageUid } from '../src/domain/ids';
import { inParallel } from '../src/domain/in-parallel';
import { LIMITS } from '../src/domain/limits';
import { openHours } from '../src/domain/time-zones/recipient-hours';
import type { ActivityDeps } from './deps';
import { pause, stopIfCancelled } from './heartbeat';
import { OUT_OF_HOURS, partByHours } from './hours';

export interface StartCallsInput {
  runId: string;
  shard: number;
}

export type StartCallsOutcome =
  | { kind: 'started'; calls: number }
  | { kind: 'idle'; waitMs?: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> };

export type PlaceCallOutcome =
  | { kind: 'placed' }
  | { kind: 'later'; waitMs: number }
  | { kind: 'stopped'; control: Exclude<Control, 'run'> }
  /** The recipient has ended; nothing more is to be done. */
  | { kind: 'over' };

/** Between two looks at how many calls are live. */
const LOOK_MS = 200;
/** The server needs 5 to 10 ms to start a workflow; more at once only queue up there. */
const STARTS_AT_ONCE = 8;
/** One activity goes on for so long before its workflow writes down that it goes on. */
const ROUND_MS = 30_000;

export function callActivities({ db, gatewayFor, signals }: ActivityDeps) {
  return {
    /** Starts calls just in time: as many as may be live at once, and more as they end. */
    async startCalls(input: StartCallsInput): Promise<StartCallsOutcome> {
      const run = await loadRun(db, input.runId);
      const policy: CallPolicy = { ...CALL_POLICY_DEFAULT, ...run.options.voice };
      const live = run.options.delivery?.maxConcurrentCalls ?? LIMITS.liveCallsDefault;
      const until = Date.now() + ROUND_MS;
      let calls = 0;
      while (Date.now() < until) {
        stopIfCancelled();
        const counts = await readCounts(db, input.runId);
        const free = live - (counts.voice?.sending ?? 0);
        if (free <= 0) {
          await pause(LOOK_MS);
          continue;
        }
        const key = { runId: input.runId, channel: 'voice' as const, shard: input.shard, lane: 0 };
        const hours = openHours(run.options, 'voice');
        const taking = await takePage(db, key, free, new Date(hours.nextForAll(Date.now())));
        if (taking.kind === 'stopped') return taking;
        if (taking.kind === 'idle') {
          if (calls) return { kind: 'started', calls };
          return taking.until
            ? { kind: 'idle', waitMs: Math.max(0, taking.until.getTime() - Date.now()) }
            : { kind: 'idle' };
        }
        const { ready, held } = partByHours(await offerChunk(db, taking.page, taking.page.size), hours);
        await inParallel(ready, STARTS_AT_ONCE, ({ seq }) =>
          signals.startCall({ runId: run.runId, seq, policy }),
        );
        await recordChunk(db, taking.page, held);
        calls += ready.length;
      }
      return { kind: 'started', calls };
    },

    /** Asks the service for one call. A uid that it knows already is not dialled twice. */
    async placeCall(input: CallKey): Promise<PlaceCallOutcome> {
      const run = await loadRun(db, input.runId);
      const now = Date.now();
      const hours = openHours(run.options, 'voice');
      if (hours.hasRules) {
        const until = await holdCall(db, input, OUT_OF_HOURS, (place) =>
          laterThan(now, hours.nextFor(place, now)),
        );
        if (until) return { kind: 'later', waitMs: until.getTime() - now };
      }
      const opening = await openCall(db, input);
      if (opening.kind !== 'open') return opening;
      const settings = run.settings.voice;
      if (!settings)
        throw new DomainError('invalid_request', `Campaign ${run.campaignId} has no voice settings`);
      const gateway = gatewayFor(run.workspaceId);
      const idempotent = (await gateway.capabilities()).has('idempotent');
      if (opening.inDoubt && !idempotent) {
        await endRecipient(db, input, 'unknown', 'answer_lost');
        return { kind: 'over' };
      }
      const [answer] = await gateway.send([
        {
          uid: messageUid({ runId: input.runId, channel: 'voice', seq: input.seq }, input.attempt),
          channel: 'voice',
          to: opening.address,
          from: settings.from,
          templateId: settings.templateId,
          version: settings.version,
          params: opening.params,
          campaign: run.campaignId,
          class: run.options.class,
        },
      ]);
      switch (answer?.kind) {
        case 'accepted':
          return { kind: 'placed' };
        case 'suppressed':
          await endRecipient(db, input, 'suppressed', undefined);
          return { kind: 'over' };
        case 'rejected':
          await endRecipient(db, input, 'rejected', answer.code);
          return { kind: 'over' };
        case 'later':
          await withdrawCall(db, input);
          return { kind: 'later', waitMs: answer.retryAfterMs };
        case 'account':
          await withdrawCall(db, input);
          throw new DomainError(
            'invalid_client',
            `The messaging service refuses our account (${answer.code})`,
          );
        default:
          if (idempotent) return { kind: 'later', waitMs: 1_000 };
          await endRecipient(db, input, 'unknown', 'answer_lost');
          return { kind: 'over' };
      }
    },

    /** How the call ended, if the event feed has told; the safety net under a lost signal. */
    async readCall(input: CallKey): Promise<CallEnding | null> {
      return (await readCallEnding(db, input)) ?? null;
    },

    async recordCall(input: CallKey & { step: CallStep; latest: CallOutcome }): Promise<void> {
      await recordStep(db, input, input.step, input.latest);
    },

    async cancelCallRecipient(input: { runId: string; seq: number }): Promise<void> {
      await endRecipient(db, input, 'canceled', undefined);
    },
  };
}

const laterThan = (now: number, next: number) => (next > now ? new Date(next) : undefined);
