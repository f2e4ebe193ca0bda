import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStorage } from '../../src/storage/storage';

/**
 * A migrated embedded database to copy: opening a copy takes about a second, making one from nothing
 * three to five.
 */
export async function makeEmbeddedTemplate(): Promise<{ value: string; stop(): Promise<void> }> {
  const directory = mkdtempSync(join(tmpdir(), 'fanfare-test-template-'));
  const storage = await openStorage({ dataDir: directory });
  await storage.close();
  return {
    value: directory,
    stop: async () => rmSync(directory, { recursive: true, force: true }),
  };
}
