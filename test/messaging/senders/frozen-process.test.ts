/** Proves what a process that was frozen takes from its senders' limits when it goes on. */
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { LIMITS } from '../../../src/domain/limits';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { openStorage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig } from '../outbox-rig';

describeWithDatabase('a process that was frozen', (database) => {
  test('takes no places for calls that another process has placed meanwhile', async () => {
    const { databaseUrl } = await database.place({ migrated: true });
    const storage = await openStorage({ databaseUrl });
    const child = spawn(
      process.execPath,
      ['--require', 'tsx/cjs', join(__dirname, 'frozen-child.ts'), databaseUrl],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    try {
      let workspaceId = '';
      child.stdout.on('data', (text) => {
        workspaceId += text;
      });
      await until('it has placed two calls', () => workspaceId.endsWith('\n'), 20_000);
      workspaceId = workspaceId.trim();
      child.kill('SIGSTOP');
      const rig = await createOutboxRig(storage);
      const { voice } = await rig.process();
      const messages = () =>
        storage
          .tables<MessagingTables>()
          .selectFrom('messages')
          .select(['id', 'state'])
          .where('workspace_id', '=', workspaceId)
          .execute();
      const bucket = () =>
        storage
          .tables<MessagingTables>()
          .selectFrom('sender_buckets')
          .select('calls')
          .where('workspace_id', '=', workspaceId)
          .executeTakeFirstOrThrow();
      // Those that the frozen process had placed are in doubt, and the others wait for their places.
      const endMs = LIMITS.partitionLeaseSeconds * 1_000 + 20_000;
      await until(
        'all have ended',
        async () => {
          for (const { id, state } of await messages())
            if (state === 'sent' || state === 'unknown') await voice.report({ id, type: 'completed' });
          return (await messages()).every(({ state }) => state === 'delivered');
        },
        endMs,
      );
      expect(voice.uids().sort()).toEqual(['v2', 'v3', 'v4', 'v5']);
      expect((await bucket()).calls).toEqual({});
      child.kill('SIGCONT');
      await delay(2_000);
      expect((await bucket()).calls).toEqual({});
      await rig.stop();
    } finally {
      child.kill('SIGKILL');
      await storage.close();
    }
  }, 90_000);
});
