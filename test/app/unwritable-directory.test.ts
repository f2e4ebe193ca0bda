/** Proves that a start names a data directory that its user may not write to. */

import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { freshNamespace } from '../support/namespaces';
import { MAIN } from '../support/root';
import { describeWithDatabase } from '../support/storage';

/** In which no user may make a directory, root included: the kernel's own on Linux, the system's on macOS. */
const FORBIDDEN = '/sys/kernel/fanfare';

describeWithDatabase('fanfare serve in a directory that its user cannot write', (database) => {
  test('says so and what to do', async () => {
    const { databaseUrl } = await database.place({ migrated: true });
    const { address, namespace } = await freshNamespace();
    const env = {
      PATH: process.env.PATH,
      ...{ DATABASE_URL: databaseUrl, TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace },
      ...{ FANFARE_DATA_DIR: FORBIDDEN, FANFARE_HTTP_PORT: '0' },
    };
    await expect(promisify(execFile)(process.execPath, [MAIN, 'serve'], { env })).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^fanfare: The data directory \S+ cannot be written: (EACCES|EPERM|EROFS).*\nGive this user write access to it, /,
      ),
    });
  }, 60_000);
});
