import { startBroker } from './broker';
import { removeOldEvidence } from './work-directory';

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
