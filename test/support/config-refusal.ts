import { readConfig } from '../../src/config';
import type { StartupError } from '../../src/startup-error';

/** What the start says of an environment that it refuses. */
export function refusal(environment: Record<string, string>): string {
  try {
    readConfig(environment);
  } catch (error) {
    return (error as StartupError).message;
  }
  throw new Error('the configuration was not refused');
}
