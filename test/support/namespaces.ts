import { randomUUID } from 'node:crypto';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import { temporalAddress } from './services';

/** A development server whose database is stuck is restarted within half a minute (src/temporal/dev-server.ts). */
const RESTART_MS = 45_000;
/** Of gRPC's status codes. */
const UNAVAILABLE = 14;

/**
 * A namespace that no other test uses, on the run's Temporal server. Task queues have fixed names, so two
 * sets of workers in one namespace would take each other's work. It is apart from services.ts, because Temporal's
 * client takes a quarter of a second to load, and most suites need none.
 */
export async function freshNamespace(): Promise<{ address: string; namespace: string }> {
  const address = await temporalAddress();
  const namespace = `test-${randomUUID()}`;
  for (const deadline = Date.now() + RESTART_MS; ; ) {
    try {
      await register(address, namespace);
      return { address, namespace };
    } catch (error) {
      if (Date.now() > deadline || !(isGrpcServiceError(error) && error.code === UNAVAILABLE)) throw error;
    }
  }
}

async function register(address: string, namespace: string): Promise<void> {
  const connection = await Connection.connect({ address });
  try {
    await connection.workflowService.registerNamespace({
      namespace,
      workflowExecutionRetentionPeriod: msToTs('1 day'),
    });
  } finally {
    await connection.close();
  }
}
