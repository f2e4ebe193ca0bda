import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { startWholeApi } from '../http/whole-api';
import { ROOT } from '../support/root';
import { describeWithDatabase } from '../support/storage';

const run = promisify(execFile);
const GENERATOR = join(ROOT, 'node_modules/@hey-api/openapi-ts/bin/run.js');
const COMMITTED = join(ROOT, 'console/src/api/types.gen.ts');

/**
 * The console's types are generated from the OpenAPI document and committed, so that its build needs no running
 * server. `WRITE_API_TYPES=1 npx jest test/console/api-types` writes them anew.
 */
describeWithDatabase("the console's types of the API", (database) => {
  test('are those of the OpenAPI document', async () => {
    const api = await startWholeApi(await database.open());
    const directory = mkdtempSync(join(tmpdir(), 'fanfare-console-types-'));
    try {
      const { body } = await api.call('GET', '/openapi.json');
      writeFileSync(join(directory, 'openapi.json'), JSON.stringify(body));
      // Without a package.json of its own, the generator would read the one of a folder above.
      writeFileSync(join(directory, 'package.json'), '{}');
      const options = ['-i', 'openapi.json', '-o', 'out', '-p', '@hey-api/typescript', '--no-log-file'];
      await run(process.execPath, [GENERATOR, ...options], { cwd: directory });
      const current = readFileSync(join(directory, 'out/types.gen.ts'), 'utf8');
      if (process.env.WRITE_API_TYPES) writeFileSync(COMMITTED, current);
      // A difference of thousands of lines would say less than this.
      expect(readFileSync(COMMITTED, 'utf8') === current).toBe(true);
    } finally {
      await api.stop();
      rmSync(directory, { recursive: true, force: true });
    }
  }, 180_000);
});
