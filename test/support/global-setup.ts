import { readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBroker } from './broker';

const EVIDENCE_KEPT_MS = 24 * 3_600_000;

/**
 * Runs once before all test files. Nothing is started here: the broker starts a server when the first
 * test asks for it, so that a run of pure tests waits for none.
 */
export default async function globalSetup(): Promise<void> {
  removeOldEvidence();
  const broker = await startBroker();
  process.env.FANFARE_TEST_BROKER = broker.url;
  globalThis.testBroker = broker;
}

/** What failed tests and killed runs have left in the temporary directory. */
function removeOldEvidence(): void {
  for (const name of readdirSync(tmpdir())) {
    if (!name.startsWith('fanfare-test-')) continue;
    const directory = join(tmpdir(), name);
    const age = Date.now() - (statSync(directory, { throwIfNoEntry: false })?.mtimeMs ?? Date.now());
    if (age > EVIDENCE_KEPT_MS) rmSync(directory, { recursive: true, force: true });
  }
}
