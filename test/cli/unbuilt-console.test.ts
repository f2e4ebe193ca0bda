/** Proves what a start prints where the program is built and its console is not. */

import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { makePlace, startFanfare } from '../support/fanfare-process';
import { copyBuild } from '../support/second-build';
import { until } from '../support/until';

test('a start without a built console names no address of one, and says how to build it', async () => {
  const build = copyBuild();
  rmSync(join(build.directory, 'dist', 'console'), { recursive: true, force: true });
  const place = await makePlace();
  const started = startFanfare(place, ['serve'], build.main);
  try {
    await until('it is ready', () => started.output().includes('API      '), 60_000);
    expect(started.output()).toContain(`API             http://127.0.0.1:${place.env.FANFARE_HTTP_PORT}`);
    expect(started.output()).toContain('Credentials     ');
    expect(started.output()).toContain('npm run build makes it');
    expect(started.output()).not.toContain('/console/');
    expect(started.output()).not.toContain('Sign in');
  } finally {
    await started.stop();
    await place.remove();
    build.remove();
  }
}, 90_000);
