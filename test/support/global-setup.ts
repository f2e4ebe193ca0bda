import { startBroker } from './broker';
import { findPostgres } from './postgres-server';

/**
 * Runs once before all test files. Nothing is started here: the broker starts a server when the first
 * test asks for it, so that a run of pure tests waits for none.
 */
export default async function globalSetup(): Promise<void> {
  const postgres = findPostgres();
  process.env.FANFARE_TEST_POSTGRES = postgres.kind;
  if (postgres.kind === 'none') {
    process.stderr.write(
      'Tests on PostgreSQL are skipped: DATABASE_URL_TEST is not set and no PostgreSQL server binaries were found.\n',
    );
  }
  const broker = await startBroker(postgres);
  process.env.FANFARE_TEST_BROKER = broker.url;
  globalThis.testBroker = broker;
}
