/** Proves the workflow of a call: its steps, signals, polls and continuation. */

import { activityInfo } from '@temporalio/activity';
import {
  Client,
  Connection,
  type WorkflowHandle,
  type WorkflowHandleWithFirstExecutionRunId,
} from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { NativeConnection, Worker } from '@temporalio/worker';
import type { VoiceActivities } from '../../activities';
import type { CallEnding, CallStep } from '../../src/domain/call-policy';
import { voiceCallWorkflowId } from '../../src/domain/ids';
import { TASK_QUEUES } from '../../src/domain/task-queues';
import { createLog } from '../../src/log';
import { newId } from '../../src/storage/new-id';
import { NAMES } from '../../src/temporal/launcher';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { BUNDLE_FILE } from '../../workers/bundle';
import type { voiceCall } from '../../workflows';
import { HISTORY_EVENTS } from '../../workflows/constants';
import type { VoiceCallInput } from '../../workflows/messages';
import { freshNamespace } from '../support/namespaces';
import { until } from '../support/until';

type History = Awaited<ReturnType<WorkflowHandle['fetchHistory']>>;

const LIMIT_MS = 120_000;
const BUSY_TWICE = { busy: { maxAttempts: 2, delaysSeconds: [0] } };

describe('the workflow of a call', () => {
  let connection: NativeConnection;
  let client: Client;
  let workers: Worker[];
  let running: Promise<unknown>;
  /** What its activities were asked for, and what they answer. */
  let asked: { place: number[]; steps: CallStep[]; stopped: string[] };
  let place: VoiceActivities['placeCall'];

  beforeAll(async () => {
    installTemporalRuntime(createLog('error'));
    const { address, namespace } = await freshNamespace();
    connection = await NativeConnection.connect({ address });
    client = new Client({ connection: await Connection.connect({ address }), namespace });
    const common = { connection, namespace };
    workers = [
      await Worker.create({
        ...common,
        taskQueue: TASK_QUEUES.voice,
        workflowBundle: { codePath: BUNDLE_FILE },
        activities: {
          placeCall: (call: Parameters<typeof place>[0]) => {
            asked.place.push(call.attempt);
            return place(call);
          },
          readCall: async () => null,
          recordCall: async ({ step }: { step: CallStep }) => {
            asked.steps.push(step);
          },
        },
      }),
      await Worker.create({
        ...common,
        taskQueue: TASK_QUEUES.orchestrator,
        activities: {
          stopRun: async ({ reason }: { reason: string }) => {
            asked.stopped.push(reason);
          },
        },
      }),
    ];
    running = Promise.all(workers.map((worker) => worker.run()));
  }, LIMIT_MS);

  afterAll(async () => {
    for (const worker of workers) worker.shutdown();
    await running;
    await client.connection.close();
    await connection.close();
  });

  beforeEach(() => {
    asked = { place: [], steps: [], stopped: [] };
  });

  async function start(more: Partial<VoiceCallInput> = {}) {
    const runId = newId('run');
    return client.workflow.start<typeof voiceCall>(NAMES.voiceCall, {
      taskQueue: TASK_QUEUES.voice,
      workflowId: voiceCallWorkflowId(runId, 0, 1),
      args: [
        { runId, seq: 0, from: 1, policy: { retry: BUSY_TWICE, maxAttempts: 2, machine: 'speak' }, ...more },
      ],
    });
  }

  const tell = (runId: string, attempt: number, end: CallEnding['end']) =>
    client.workflow.getHandle(voiceCallWorkflowId(runId, 0, 1)).signal(NAMES.callEnded, { attempt, end });

  /** The lengths of its executions, each of which replays. */
  async function executions(handle: WorkflowHandleWithFirstExecutionRunId): Promise<number[]> {
    const lengths: number[] = [];
    for (let runId: string | undefined = handle.firstExecutionRunId; runId; ) {
      const { events }: History = await client.workflow.getHandle(handle.workflowId, runId).fetchHistory();
      await Worker.runReplayHistory({ workflowBundle: { codePath: BUNDLE_FILE } }, { events });
      lengths.push(events?.length ?? 0);
      runId = nextExecution(events);
    }
    return lengths;
  }

  test(
    'goes on as another execution while its service takes nothing, and knows its calls',
    async () => {
      const executionsSeen = new Set<string>();
      place = async ({ runId, attempt }) => {
        executionsSeen.add(activityInfo().workflowExecution?.runId ?? '');
        if (attempt === 2 && executionsSeen.size === 1) {
          // Timers are slow; a look that somebody asks for is not.
          await client.workflow.getHandle(voiceCallWorkflowId(runId, 0, 1)).signal(NAMES.wakeCall, 'run');
          return { kind: 'later', waitMs: 60_000 };
        }
        await tell(runId, attempt, attempt === 1 ? 'busy' : 'completed');
        return { kind: 'placed' };
      };
      const handle = await start();
      await handle.result();
      expect(new Set(asked.place)).toEqual(new Set([1, 2]));
      expect(asked.place.filter((attempt) => attempt === 1)).toHaveLength(1);
      expect(asked.steps).toEqual([
        { kind: 'redial', afterSeconds: 0 },
        { kind: 'end', state: 'delivered', outcome: 'human' },
      ]);
      const lengths = await executions(handle);
      expect(lengths.length).toBeGreaterThan(1);
      expect(Math.max(...lengths)).toBeLessThan(HISTORY_EVENTS + 100);
    },
    LIMIT_MS,
  );

  test(
    'places no call again that was placed before it went on, and has heard what was told',
    async () => {
      place = async () => ({ kind: 'over' });
      const calls = [{ outcome: 'busy' as const }];
      const goOn = { calls, placed: true, canceled: false };
      const handle = await start({ goOn: { ...goOn, endings: [[2, { end: 'busy' }]] } });
      await handle.result();
      expect(asked.place).toEqual([]);
      expect(asked.steps).toEqual([{ kind: 'end', state: 'undelivered', outcome: 'busy' }]);
    },
    LIMIT_MS,
  );

  test(
    'does not end by a failure to place it: its run stops and says why, and it waits',
    async () => {
      let isBroken = true;
      place = async ({ runId, attempt }) => {
        if (isBroken) throw ApplicationFailure.nonRetryable('there are no voice settings', 'invalid_request');
        await tell(runId, attempt, 'completed');
        return { kind: 'placed' };
      };
      const handle = await start();
      await until('its run is stopped', () => asked.stopped.length > 0);
      expect(asked.stopped).toEqual(['invalid_request: there are no voice settings']);
      isBroken = false;
      await handle.signal(NAMES.wakeCall, 'run');
      await handle.result();
      expect(asked.place).toEqual([1, 1]);
      expect(asked.steps).toEqual([{ kind: 'end', state: 'delivered', outcome: 'human' }]);
      await executions(handle);
    },
    LIMIT_MS,
  );

  test(
    'waits for the two days that its policy names before it dials again, by a timer alone',
    async () => {
      const seconds = 2 * 24 * 3_600;
      place = async ({ runId, attempt }) => {
        await tell(runId, attempt, 'busy');
        return { kind: 'placed' };
      };
      const policy = {
        ...{ retry: { busy: { maxAttempts: 2, delaysSeconds: [seconds] } }, maxAttempts: 2 },
        machine: 'speak' as const,
      };
      const handle = await start({ policy });
      const timers = async () =>
        ((await handle.fetchHistory()).events ?? []).flatMap(
          ({ timerStartedEventAttributes: timer }) => Number(timer?.startToFireTimeout?.seconds ?? 0) || [],
        );
      await until('it waits', async () => (await timers()).some((one) => one >= seconds * 0.9));
      const [step] = asked.steps;
      const wait = step?.kind === 'redial' ? step.afterSeconds : 0;
      expect(Math.abs(wait / seconds - 1)).toBeLessThanOrEqual(0.1);
      expect(await timers()).toContain(Math.floor(wait));
      expect(asked.place).toEqual([1]);
      await executions(handle);
      await handle.terminate();
    },
    LIMIT_MS,
  );
});

/** The one that continues it, if any. */
function nextExecution(events: History['events']): string | undefined {
  const end = events?.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
  return end?.newExecutionRunId ?? undefined;
}
