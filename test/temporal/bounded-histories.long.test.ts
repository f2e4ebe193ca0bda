import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Client, Connection, type WorkflowHandle } from '@temporalio/client';
import { NativeConnection, Worker } from '@temporalio/worker';
import { TASK_QUEUES } from '../../src/domain/task-queues';
import { createLog } from '../../src/log';
import { NAMES } from '../../src/temporal/launcher';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { BUNDLE_FILE } from '../../workers/bundle';
import type { CampaignRunInput, ChannelShardInput, VoiceCallInput } from '../../workflows/messages';
import { freshNamespace } from '../support/namespaces';
import { temporalAddress } from '../support/services';
import { until } from '../support/until';

/** In place of HISTORY_EVENTS (workflows/constants.ts), so that seconds are enough to pass it more than once. */
const HISTORY_EVENTS = 120;
/** Each round of waiting writes at least five events. */
const ROUNDS = 60;
const LONG_MS = 3_600_000;
/** One round may be under way when the bound is passed. */
const HISTORY_MAX = 2 * HISTORY_EVENTS;
const LIMIT_MS = 60_000;

// biome-ignore lint/suspicious/noExplicitAny: scripts answer as activities would.
type Script = Record<string, (input: any) => unknown>;

/**
 * Weeks of waiting, by activities that answer what real ones would after hours: each workflow goes on as another
 * execution before its history is full, with nothing lost. The workflows and the server are the real ones.
 */
describe('a workflow that waits for weeks', () => {
  let connection: Connection;
  let native: NativeConnection;
  let client: Client;
  let namespace: string;
  let workers: Worker[] = [];
  let running: Promise<unknown>[] = [];

  beforeAll(async () => {
    installTemporalRuntime(createLog('silent'));
    const address = await temporalAddress();
    connection = await Connection.connect({ address });
    native = await NativeConnection.connect({ address });
  }, 60_000);

  beforeEach(async () => {
    namespace = (await freshNamespace()).namespace;
    client = new Client({ connection, namespace });
  });

  afterEach(async () => {
    for (const worker of workers) worker.shutdown();
    await Promise.all(running);
    [workers, running] = [[], []];
  }, 60_000);

  afterAll(async () => {
    await native?.close();
    await connection?.close();
  });

  async function play(script: Script): Promise<void> {
    for (const taskQueue of Object.values(TASK_QUEUES)) {
      const worker = await Worker.create({
        connection: native,
        namespace,
        taskQueue,
        workflowBundle: { code: await shortHistories() },
        activities: Object.fromEntries(
          Object.entries(script).map(([name, answer]) => [name, async (input: unknown) => answer(input)]),
        ),
      });
      workers.push(worker);
      running.push(worker.run());
    }
  }

  /** The executions of a workflow's chain, the first one first, with the length of each one's history. */
  async function executions(workflowId: string): Promise<number[]> {
    const lengths: number[] = [];
    for await (const { runId } of client.workflow.list({ query: `WorkflowId = "${workflowId}"` })) {
      const { historyLength } = await client.workflow.getHandle(workflowId, runId).describe();
      lengths.push(historyLength);
    }
    return lengths;
  }

  async function expectBounded({ workflowId }: WorkflowHandle): Promise<void> {
    await until(
      'its executions are listed',
      async () => (await executions(workflowId)).length > 1,
      30_000,
      200,
    );
    expect(Math.max(...(await executions(workflowId)))).toBeLessThan(HISTORY_MAX);
  }

  const run = (): CampaignRunInput => ({ runId: `run_${randomUUID()}`, workspaceId: 'wsp', launch: 1 });
  const start = (name: string, queue: string, workflowId: string, input: unknown) =>
    client.workflow.start(name, { taskQueue: queue, workflowId, args: [input] });
  /** Timers of the server come a second late at the best; what wakes a sleeping workflow in life comes at once. */
  function wake(workflowId: string, signal: string, ...given: unknown[]): void {
    // It may end at this very moment.
    void client.workflow
      .getHandle(workflowId)
      .signal(signal, ...given)
      .catch(() => undefined);
  }
  const planning: Script = {
    beginRun: () => ({ shards: null, again: false }),
    refreshToken: () => [],
    lookUpTemplates: () => ({}),
    freezeNextShard: () => ({ shards: [{ channel: 'sms', shard: 0 }], isOver: true }),
    ensureOutcomeFeed: () => undefined,
  };

  test(
    'a run whose outcomes do not come settles once, when they have come',
    async () => {
      const id = randomUUID();
      let looks = 0;
      const closed: unknown[] = [];
      await play({
        ...planning,
        sendPage: () => ({ kind: 'idle' }),
        lookWhileSending: () => ({ kind: 'wait' }),
        lookWhileSettling: () => {
          if (++looks > ROUNDS) return { kind: 'settled' };
          wake(id, 'wake');
          return { kind: 'wait', waitMs: LONG_MS };
        },
        closeRun: (input) => closed.push(input),
      });
      const handle = await start(NAMES.campaignRun, TASK_QUEUES.orchestrator, id, run());
      await handle.result();
      expect(closed).toHaveLength(1);
      await expectBounded(handle);
    },
    LIMIT_MS,
  );

  test(
    'a run whose shards sleep, as in a fallback campaign, goes on with the same shards',
    async () => {
      const id = randomUUID();
      let looks = 0;
      let isOver = false;
      const pages: number[] = [];
      await play({
        ...planning,
        sendPage: ({ shard }) => {
          pages.push(shard);
          return isOver ? { kind: 'idle' } : { kind: 'idle', waitMs: LONG_MS };
        },
        lookWhileSending: () => {
          isOver = ++looks > ROUNDS;
          wake(id, 'wake');
          if (!isOver) return { kind: 'wait', waitMs: LONG_MS };
          return { kind: 'due', shards: [0, 1].map((shard) => ({ channel: 'sms', shard })) };
        },
        lookWhileSettling: () => ({ kind: 'settled' }),
        closeRun: () => true,
        freezeNextShard: () => ({ shards: [0, 1].map((shard) => ({ channel: 'sms', shard })), isOver: true }),
      });
      const handle = await start(NAMES.campaignRun, TASK_QUEUES.orchestrator, id, run());
      await handle.result();
      // Each of two lanes asks once in each execution, and once more at the end.
      for (const shard of [0, 1])
        expect(pages.filter((one) => one === shard).length).toBeGreaterThanOrEqual(6);
      await expectBounded(handle);
    },
    LIMIT_MS,
  );

  test(
    'a shard whose service is away goes on with its page size',
    async () => {
      const id = randomUUID();
      let asked = 0;
      const sizes: number[] = [];
      await play({
        sendPage: ({ size }) => {
          sizes.push(size);
          if (++asked === 1) return { kind: 'sent', size: 5_000, durationMs: 4_000 };
          if (asked > 2 * ROUNDS) return { kind: 'idle' };
          wake(id, 'wake');
          return { kind: 'backoff', waitMs: LONG_MS };
        },
      });
      const input: ChannelShardInput = { runId: 'run_1', channel: 'sms', shard: 0, since: Date.now() };
      const handle = await start('channelShard', TASK_QUEUES.orchestrator, id, input);
      await handle.result();
      // The other lane may ask, and be woken, before what the first one was answered is known.
      const changed = sizes.findIndex((size) => size !== sizes[0]);
      expect(changed).toBeGreaterThan(0);
      expect(new Set(sizes.slice(changed + 2)).size).toBe(1);
      await expectBounded(handle);
    },
    LIMIT_MS,
  );

  test(
    'a call that finds no place is placed once, and its end decides',
    async () => {
      const id = randomUUID();
      let asked = 0;
      const recorded: unknown[] = [];
      await play({
        placeCall: () => {
          if (++asked > ROUNDS) return { kind: 'placed' };
          wake(id, 'wakeCall', 'run');
          return { kind: 'later', waitMs: LONG_MS };
        },
        readCall: () => null,
        recordCall: (input) => recorded.push(input),
      });
      const input: VoiceCallInput = {
        runId: 'run_1',
        seq: 0,
        from: 1,
        policy: { retry: {}, maxAttempts: 1, machine: 'speak' },
      };
      const handle = await start(NAMES.voiceCall, TASK_QUEUES.voice, id, input);
      await until('it is placed', () => asked > ROUNDS, LIMIT_MS, 20);
      await client.workflow
        .getHandle(id)
        .signal(NAMES.callEnded, { attempt: 1, end: 'completed', answeredBy: 'human' });
      await handle.result();
      expect([asked, recorded.length]).toEqual([ROUNDS + 1, 1]);
      await expectBounded(handle);
    },
    LIMIT_MS,
  );

  test(
    'a durable send with weeks of retries ends with its outcome',
    async () => {
      const id = randomUUID();
      let looks = 0;
      const wait = () => {
        wake(id, 'wakeSend');
        return { kind: 'wait', waitMs: LONG_MS };
      };
      await play({
        actOnSend: wait,
        lookAtSend: () => (++looks > ROUNDS ? { kind: 'ended', state: 'delivered', outcome: null } : wait()),
      });
      const handle = await start(NAMES.durableSend, TASK_QUEUES.durableSends, id, { sendId: 'snd_1' });
      expect(await handle.result()).toEqual({ state: 'delivered', outcome: null });
      await expectBounded(handle);
    },
    LIMIT_MS,
  );
});

/** The workflows as they are built, with the lower bound. */
async function shortHistories(): Promise<string> {
  const parts = (await readFile(BUNDLE_FILE, 'utf8')).split(/\bHISTORY_EVENTS = [\de]+;/);
  expect(parts).toHaveLength(2);
  return parts.join(`HISTORY_EVENTS = ${HISTORY_EVENTS};`);
}
