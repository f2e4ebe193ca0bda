import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { makePlace, startFanfare, untilReady } from './support/fanfare-process';
import { freshNamespace } from './support/namespaces';
import { ROOT } from './support/root';

const run = promisify(execFile);

/** What the first pages let a newcomer type into a shell, with curl. */
describe('docs/first-campaign.md', () => {
  test('its campaign with a contact list, typed in as it stands, runs to its end', async () => {
    const [, script = ''] =
      /^## With a contact list\n[\s\S]*?^```bash\n([\s\S]*?)^```/m.exec(
        readFileSync(join(ROOT, 'docs/first-campaign.md'), 'utf8'),
      ) ?? [];
    expect(script).toContain('/api/campaign');

    const { address, namespace } = await freshNamespace();
    const place = await makePlace({ TEMPORAL_ADDRESS: address, TEMPORAL_NAMESPACE: namespace });
    const fanfare = startFanfare(place);
    try {
      await untilReady(fanfare);
      const { stdout } = await run('bash', ['-c', script], { cwd: ROOT, env: place.env, timeout: 60_000 });
      expect(stdout).toMatch(/"received":4/);
      expect(stdout).toMatch(/total: 4,/);
      expect(stdout).toMatch(/rejected: [01],/);
    } finally {
      await fanfare.stop();
    }
    await place.remove();
  }, 120_000);
});
