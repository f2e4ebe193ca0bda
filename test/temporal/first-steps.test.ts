import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { TASK_QUEUES } from '../../src/domain/task-queues';
import { NAMES } from '../../src/temporal/launcher';
import { BUNDLE_FILE } from '../../workers/bundle';
import { type Script, ScriptedActivities } from '../support/scripted-activities';

const FIRST_STEPS = ['beginRun', 'refreshToken', 'lookUpTemplates', 'ensureOutcomeFeed'];
/** Longer than the local try of a step may take (workflows/proxies.ts). */
const HANGS_MS = 2_000;

/** The steps before a run's first message: tried in the worker that has the workflow, then scheduled by the server. */
describe('the first steps of a run', () => {
  let scripted: ScriptedActivities;
  afterEach(() => scripted.end());

  /** Plays a run to its end. Returns the first steps that the server scheduled. */
  async function scheduledOf(steps: Script): Promise<string[]> {
    scripted = await ScriptedActivities.play(await readFile(BUNDLE_FILE, 'utf8'), {
      beginRun: () => ({ shards: null, again: false }),
      refreshToken: () => [],
      lookUpTemplates: () => ({ sms: ['NAME'] }),
      ensureOutcomeFeed: () => undefined,
      freezeNextShard: () => ({ shards: [{ channel: 'sms', shard: 0 }], isOver: true }),
      sendPage: () => ({ kind: 'idle' }),
      lookWhileSending: () => ({ kind: 'wait' }),
      lookWhileSettling: () => ({ kind: 'settled' }),
      closeRun: () => true,
      ...steps,
    });
    const input = { runId: `run_${randomUUID()}`, workspaceId: 'wsp', launch: 1 };
    const handle = await scripted.start(NAMES.campaignRun, TASK_QUEUES.orchestrator, input);
    await handle.result();
    const { events } = await handle.fetchHistory();
    return (events ?? [])
      .map((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? '')
      .filter((name) => FIRST_STEPS.includes(name));
  }

  test('are not scheduled when they succeed', async () => {
    let tries = 0;
    expect(await scheduledOf({ refreshToken: () => [`${++tries}`] })).toEqual([]);
    expect(tries).toBe(1);
  });

  test('are scheduled, and retried by the server, when the service does not answer at first', async () => {
    let tries = 0;
    const lookUpTemplates = () => {
      if (++tries < 4) throw new Error('no answer');
      return { sms: ['NAME'] };
    };
    expect(await scheduledOf({ lookUpTemplates })).toEqual(['lookUpTemplates']);
    expect(tries).toBe(4);
  }, 30_000);

  test('are scheduled when one takes long, so that signals are not held up by it', async () => {
    let tries = 0;
    const refreshToken = async () => {
      if (++tries === 1) await delay(HANGS_MS);
      return [];
    };
    const beganAt = Date.now();
    expect(await scheduledOf({ refreshToken })).toEqual(['refreshToken']);
    expect(tries).toBe(2);
    expect(Date.now() - beganAt).toBeLessThan(3 * HANGS_MS);
  }, 30_000);
});
