import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { openStorage } from '../../src/storage/storage';

const ROOT = resolve(__dirname, '../..');
const CACHE = join(ROOT, 'node_modules/.cache/fanfare-test');
const TEMPLATE_AGE_MAX_MS = 24 * 3_600_000;

/**
 * A migrated embedded database to copy: opening a copy takes about a second, making one from nothing
 * three to five. It is kept from run to run until the schema, the engine or our code around it changes.
 */
export async function makeEmbeddedTemplate(): Promise<{ value: string; stop(): Promise<void> }> {
  if (!existsSync(join(ROOT, 'dist/src/storage/embedded-worker.js'))) {
    throw new Error('the embedded engine runs from the build: run `npm run build` first');
  }
  const directory = join(CACHE, `database-${fingerprint()}`);
  if (!existsSync(directory)) {
    mkdirSync(CACHE, { recursive: true });
    removeOldTemplates();
    const fresh = mkdtempSync(join(CACHE, 'making-'));
    const storage = await openStorage({ dataDir: fresh });
    await storage.close();
    try {
      renameSync(fresh, directory);
    } catch {
      // Another run was quicker; its template is as good.
      rmSync(fresh, { recursive: true, force: true });
    }
  }
  return { value: directory, stop: async () => undefined };
}

/** By age, since another run may be copying any that is not old. */
function removeOldTemplates(): void {
  for (const name of readdirSync(CACHE)) {
    const old = Date.now() - statSync(join(CACHE, name)).mtimeMs > TEMPLATE_AGE_MAX_MS;
    if (old) rmSync(join(CACHE, name), { recursive: true, force: true });
  }
}

function fingerprint(): string {
  const hash = createHash('sha256');
  const storage = join(ROOT, 'src/storage');
  for (const file of readdirSync(storage, { recursive: true, encoding: 'utf8' }).sort()) {
    if (file.endsWith('.ts')) hash.update(file).update(readFileSync(join(storage, file)));
  }
  hash.update(readFileSync(join(dirname(require.resolve('@electric-sql/pglite')), '../package.json')));
  return hash.digest('hex').slice(0, 16);
}
