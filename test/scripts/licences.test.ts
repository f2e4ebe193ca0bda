import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from '../support/root';

test('THIRD-PARTY.md names what is installed, and every licence may be passed on', async () => {
  await expect(
    promisify(execFile)(process.execPath, [join(ROOT, 'scripts/licences.mjs')]),
  ).resolves.toMatchObject({ stderr: '' });
});
