import { randomUUID } from 'node:crypto';
import { Connection, isGrpcServiceError } from '@temporalio/client';
import { msToTs } from '@temporalio/common/lib/time';
import type { Service } from './broker';

/** Address of the run's Temporal dev server, `host:port`; started by the first caller. */
export const temporalAddress = (): Promise<string> => ask('temporal');

/** A development server whose database is stuck is restarted within half a minute (src/temporal/dev-server.ts). */
const RESTART_MS = 45_000;
/** Of gRPC's status codes. */
const UNAVAILABLE = 14;

/**
 * A namespace that no other test uses, on the run's Temporal server. Task queues have fixed names, so two
 * sets of workers in one namespace would take each other's work.
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

/** Connection string of the run's PostgreSQL server. */
export const postgresUrl = (): Promise<string> => ask('postgres');

/** Name of a migrated database on that server, to be copied and never opened. */
export const templateDatabase = (): Promise<string> => ask('template-database');

/** Asks that databases outlive the run, because a failed test left its own behind. */
export async function keepData(): Promise<void> {
  await fetch(`${process.env.FANFARE_TEST_BROKER}/keep-data`);
}

const TRIES = 5;

/** On a busy machine an idle connection may be closed just as it is used again. */
async function ask(service: Service, tries = TRIES): Promise<string> {
  const response = await fetch(`${process.env.FANFARE_TEST_BROKER}/${service}`).catch((error: unknown) => {
    if (tries === 1) throw error;
  });
  if (!response) return ask(service, tries - 1);
  const text = await response.text();
  if (!response.ok) throw new Error(`The test run cannot provide ${service}: ${text}`);
  return text;
}
