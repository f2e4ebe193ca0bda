import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Worker } from '@temporalio/worker';
import { createLog } from '../../src/log';
import { installTemporalRuntime } from '../../src/temporal/runtime';
import { BUNDLE_FILE, TRACED_BUNDLE_FILE } from '../../workers/bundle';
import { STAGED_HISTORIES } from './record-stages';

/**
 * Every workflow must still do what it did when these histories were recorded (record.ts), or what is
 * running now would break at the next deployment.
 */
const HISTORIES = join(__dirname, 'histories');
const files = readdirSync(HISTORIES);

beforeAll(() => installTemporalRuntime(createLog('error')));

const replay = (history: unknown) =>
  Worker.runReplayHistory({ workflowBundle: { codePath: BUNDLE_FILE }, sinks: UNHEARD }, history);

/** Where traced workflows leave their spans. */
const UNHEARD = { exporter: { export: { fn: () => undefined, callDuringReplay: false } } };

const read = (file: string): History => JSON.parse(readFileSync(join(HISTORIES, file), 'utf8')) as History;

interface History {
  events: { activityTaskScheduledEventAttributes?: { activityType: { name: string } } }[];
}

/** What is wrong with each of the recorded ones, by file. One worker replays all, because each one reads the whole bundle. */
async function replayAll(codePath: string): Promise<Map<string, Error | undefined>> {
  async function* histories() {
    for (const workflowId of files) yield { workflowId, history: read(workflowId) };
  }
  const options = { workflowBundle: { codePath }, sinks: UNHEARD };
  const wrong = new Map<string, Error | undefined>();
  for await (const { workflowId, error } of Worker.runReplayHistories(options, histories())) {
    wrong.set(workflowId, error);
  }
  return wrong;
}

describe.each([
  ['replays', BUNDLE_FILE],
  ['replays where traces are switched on meanwhile', TRACED_BUNDLE_FILE],
])('each recorded history %s', (_, codePath) => {
  let wrong: Map<string, Error | undefined>;
  beforeAll(async () => {
    wrong = await replayAll(codePath);
  });

  test.each(files)('%s', (file) => {
    expect([...wrong.keys()]).toContain(file);
    expect(wrong.get(file)).toBeUndefined();
  });
});

describe('recorded histories', () => {
  test('exist for every workflow', () => {
    for (const workflow of [
      'campaign-run',
      'campaign-occurrence',
      'channel-shard',
      'voice-call',
      'outcome-feed',
      'durable-send',
    ]) {
      expect(files.filter((file) => file.startsWith(workflow))).not.toHaveLength(0);
    }
  });

  test('exist for a run that was started before its hour', () => {
    expect(files.some((file) => file.startsWith('campaign-run-early-'))).toBe(true);
  });

  test('exist for every path of a call', () => {
    for (const path of [
      'redialled',
      'unknown',
      'faults',
      'later',
      'paused',
      'canceled',
      'continued',
      'stopped',
    ]) {
      expect([path, files.some((file) => file.startsWith(`voice-call-${path}-`))]).toEqual([path, true]);
    }
  });

  test.each(STAGED_HISTORIES)('exist as %s', (name) => {
    expect(files.some((file) => file.startsWith(`${name}-`))).toBe(true);
  });

  test('do not replay when the workflow would do something else', async () => {
    const altered = read(files.find((file) => file.startsWith('campaign-run')) ?? '');
    const scheduled = altered.events.find((event) => event.activityTaskScheduledEventAttributes);
    if (!scheduled?.activityTaskScheduledEventAttributes)
      throw new Error('the history schedules no activity');
    scheduled.activityTaskScheduledEventAttributes.activityType.name = 'somethingElse';
    await expect(replay(altered)).rejects.toThrow(/somethingElse|[Nn]ondeterminism/);
  });
});
