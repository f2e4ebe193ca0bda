/** Proves that a start names a data directory that its user may not write to. */

import { execFile } from 'node:child_process';
import { chmodSync, chownSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freshNamespace } from '../support/namespaces';
import { MAIN } from '../support/root';
import { describeWithDatabase } from '../support/storage';

/** Root may write everywhere, so that another user has to start. */
const OTHER = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

describeWithDatabase('fanfare serve in a directory that its user cannot write', (database) => {
  test('says so and what to do', async () => {
    const { databaseUrl } = await database.place({ migrated: true });
    const { address, namespace } = await freshNamespace();
    const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-unwritable-'));
    if (OTHER.uid !== undefined) chownSync(dataDir, OTHER.uid, OTHER.gid);
    chmodSync(dataDir, 0o500);
    const env = {
      PATH: process.env.PATH,
      ...{ DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
      ...{ FANFARE_DATA_DIR: dataDir, FANFARE_HTTP_PORT: '0' },
    };
    const started = promisify(execFile)(process.execPath, [MAIN, 'serve'], { env, cwd: '/', ...OTHER });
    await expect(started).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^fanfare: The data directory \S+ cannot be written: EACCES.*\nGive this user write access to it, /,
      ),
    });
    rmSync(dataDir, { recursive: true });
  }, 60_000);
});
