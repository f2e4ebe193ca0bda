/** Proves what a process that was frozen takes from its senders' limits, and gives back, when it goes on. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Kysely } from 'kysely';
import { LIMITS } from '../../../src/domain/limits';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig } from '../outbox-rig';
import type { ScriptedProvider } from '../scripted-provider';

const TAKEN_OVER_MS = LIMITS.partitionLeaseSeconds * 1_000 + 20_000;

describeWithDatabase('a process that was frozen', (database) => {
  let databaseUrl: string;
  let storage: Storage;
  let db: Kysely<MessagingTables>;
  let child: ChildProcess | undefined;
  beforeEach(async () => {
    ({ databaseUrl } = await database.place({ migrated: true }));
    storage = await openStorage({ databaseUrl });
    db = storage.tables<MessagingTables>();
  });
  afterEach(async () => {
    child?.kill('SIGKILL');
    await storage.close();
  });

  /** Freezes a process that has placed two calls, and starts another one. */
  async function freeze({ concurrentCalls, answerMs }: { concurrentCalls: number; answerMs: number }) {
    const program = join(__dirname, 'frozen-child.ts');
    const started = spawn(
      process.execPath,
      ['--require', 'tsx/cjs', program, databaseUrl, String(concurrentCalls), String(answerMs)],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    child = started;
    let output = '';
    started.stdout.on('data', (text) => {
      output += text;
    });
    await until('it has placed two calls', () => output.endsWith('\n'), 20_000);
    started.kill('SIGSTOP');
    const rig = await createOutboxRig(storage);
    const { voice } = await rig.process();
    const workspaceId = output.trim();
    const messages = () =>
      db
        .selectFrom('messages')
        .select(['id', 'uid', 'state'])
        .where('workspace_id', '=', workspaceId)
        .orderBy('uid')
        .execute();
    return {
      ...{ rig, voice, messages },
      /** Uids of the calls that have a place. */
      async placed(): Promise<string[]> {
        const { calls } = await db
          .selectFrom('sender_buckets')
          .select('calls')
          .where('workspace_id', '=', workspaceId)
          .executeTakeFirstOrThrow();
        return (await messages()).filter(({ id }) => id in calls).map(({ uid }) => uid);
      },
    };
  }

  async function completeAll(
    voice: ScriptedProvider,
    messages: () => Promise<{ id: string; state: string }[]>,
  ): Promise<boolean> {
    for (const { id, state } of await messages())
      if (state === 'sent' || state === 'unknown') await voice.report({ id, type: 'completed' });
    return (await messages()).every(({ state }) => state === 'delivered');
  }

  test('takes no places for calls that another process has placed meanwhile', async () => {
    const { rig, voice, messages, placed } = await freeze({ concurrentCalls: 2, answerMs: 60_000 });
    await until('all have ended', () => completeAll(voice, messages), TAKEN_OVER_MS);
    expect(voice.uids().sort()).toEqual(['v2', 'v3', 'v4', 'v5']);
    expect(await placed()).toEqual([]);
    child?.kill('SIGCONT');
    await delay(2_000);
    expect(await placed()).toEqual([]);
    await rig.stop();
  }, 90_000);

  test('gives no place back that another process has taken for the same call', async () => {
    // Its carrier answers while it is frozen, so that two calls for which it has places leave when it goes on.
    const { rig, voice, placed } = await freeze({ concurrentCalls: 4, answerMs: 5_000 });
    await until('they are placed by another', () => voice.taken.length === 2, TAKEN_OVER_MS);
    expect(await placed()).toEqual(['v0', 'v1', 'v2', 'v3']);
    child?.kill('SIGCONT');
    await delay(3_000);
    expect(voice.uids()).toEqual(['v2', 'v3']);
    expect(await placed()).toEqual(['v0', 'v1', 'v2', 'v3']);
    await rig.stop();
  }, 90_000);
});
