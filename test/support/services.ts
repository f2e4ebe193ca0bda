import type { Service } from './broker';

/** Address of the run's Temporal dev server, `host:port`; started by the first caller. */
export const temporalAddress = (): Promise<string> => ask('temporal');

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
