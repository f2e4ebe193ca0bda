import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { channelShardWorkflowId } from '../../src/domain/ids';
import { TASK_QUEUES } from '../../src/domain/task-queues';
import { NAMES } from '../../src/temporal/launcher';
import { BUNDLE_FILE } from '../../workers/bundle';
import { type Script, ScriptedActivities } from '../support/scripted-activities';

/** A shard that is told of more recipients at the moment at which it ends. */
describe('a wake at the last moment', () => {
  let scripted: ScriptedActivities;
  const play = async (script: Script) => {
    scripted = await ScriptedActivities.play(await readFile(BUNDLE_FILE, 'utf8'), script);
  };
  afterEach(() => scripted.end());

  test('makes a shard look again that found nothing more to do', async () => {
    const runId = `run_${randomUUID()}`;
    const workflowId = channelShardWorkflowId(runId, 1, 'voice', 0);
    let looks = 0;
    await play({
      async startCalls() {
        looks += 1;
        // The recipients come after the ledger was read, and before the shard hears of what was read.
        if (looks === 1) expect(await scripted.signal(workflowId, 'wake')).toBe(true);
        return { kind: 'idle' };
      },
    });
    const input = { runId, launch: 1, channel: 'voice', shard: 0, since: Date.now() };
    await (await scripted.start('channelShard', TASK_QUEUES.orchestrator, input, workflowId)).result();
    expect(looks).toBe(2);
  });

  test('makes a run start a shard again that has ended', async () => {
    const runId = `run_${randomUUID()}`;
    const [email, sms] = (['email', 'sms'] as const).map((channel) => ({ channel, shard: 0 }));
    const emailId = channelShardWorkflowId(runId, 1, 'email', 0);
    const pages = { email: 0, sms: 0 };
    let hasEnded = false;
    let isDue = false;
    await play({
      beginRun: () => ({ shards: [email, sms], again: false }),
      applyControl: () => undefined,
      refreshToken: () => [],
      ensureOutcomeFeed: () => undefined,
      sendPage({ channel }: { channel: 'email' | 'sms' }) {
        pages[channel] += 1;
        // The other shard sleeps until a retry is due, so that the run has a shard that lives.
        return channel === 'sms' && pages.email < 4 ? { kind: 'idle', waitMs: 500 } : { kind: 'idle' };
      },
      async lookWhileSending() {
        if (isDue) return { kind: 'wait' };
        // A retry falls due when the shard has ended, of which its run may have heard or not.
        await scripted.client.workflow.getHandle(emailId).result();
        [isDue, hasEnded] = [true, true];
        return { kind: 'due', shards: [email] };
      },
      lookWhileSettling: () => ({ kind: 'settled' }),
      closeRun: () => true,
    });
    const input = { runId, workspaceId: 'wsp', launch: 1 };
    await (await scripted.start(NAMES.campaignRun, TASK_QUEUES.orchestrator, input)).result();
    expect(hasEnded).toBe(true);
    // Two lanes each time.
    expect(pages.email).toBe(4);
  });
});
