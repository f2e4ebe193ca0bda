/** Proves that credentials of another installation end a start with what to do, and create nothing. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startApp } from '../../src/app/app';
import { readConfig } from '../../src/config';
import { readCredentials, writeCredentials } from '../../src/credentials/credentials';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { openStorage } from '../../src/storage/storage';
import { freshNamespace } from '../support/namespaces';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('credentials of another installation', (database) => {
  const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-foreign-'));
  afterAll(() => rmSync(dataDir, { recursive: true, force: true }));

  test('are refused beside workspaces that they do not name, and change neither the file nor the database', async () => {
    const place = await database.place({ migrated: true });
    const { address, namespace } = await freshNamespace();
    const env = {
      ...{ DATABASE_URL: place.databaseUrl, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
      ...{ FANFARE_DATA_DIR: dataDir, FANFARE_HTTP_PORT: '0' },
    };
    const start = () =>
      startApp({
        ...{ config: readConfig(env), log: createLog('silent'), http: true, roles: [], env },
        onProgress: () => undefined,
        signal: new AbortController().signal,
      });
    await (await start()).stop();
    const own = await readCredentials(dataDir);
    if (!own) throw new Error('A first start writes credentials');
    const foreign = {
      ...own,
      workspace: { id: 'ws_elsewhere', name: 'Elsewhere' },
      user: { ...own.user, id: 'usr_elsewhere', email: 'other@example.com' },
    };
    await writeCredentials(dataDir, foreign);
    await expect(start()).rejects.toMatchObject({
      name: 'StartupError',
      message: expect.stringMatching(
        /credentials\.json is of another installation: its workspace ws_elsewhere/,
      ),
      wayOut: expect.stringContaining('DATABASE_URL'),
    });
    expect(await readCredentials(dataDir)).toEqual(foreign);
    const storage = await openStorage(place);
    const rows = await storage.tables<MessagingTables>().selectFrom('workspaces').select('id').execute();
    expect(rows).toEqual([{ id: own.workspace.id }]);
    await storage.close();
    await writeCredentials(dataDir, own);
    await (await start()).stop();
  }, 60_000);
});
