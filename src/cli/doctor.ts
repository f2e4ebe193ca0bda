import { type Config, readConfig } from '../config';
import { type MisspeltVariable, misspeltVariables } from '../config-misspelt';
import { type Credentials, readCredentials } from '../credentials/credentials';
import { createLog } from '../log';
import { StartupError } from '../startup-error';
import { installTemporalRuntime } from '../temporal/runtime';
import { print, printable } from './command';
import { lookAtAccounts } from './doctor-accounts';
import { lookAtHttpsCertificate, lookAtMailCertificate, lookAtTemporal } from './doctor-connections';
import { lookAtInstance, lookAtService } from './doctor-instance';
import { lookAtDatabase, lookAtDirectory, lookAtNode, lookAtSpeech } from './doctor-machine';
import { lookAtProviders } from './doctor-providers';
import { lookAtSecrets } from './doctor-secrets';

/**
 * `fanfare doctor` (api.md 13): checks everything that this installation depends on, as this shell's variables
 * and credentials.json name it, and changes nothing. It may run beside an instance or before the first one is
 * started.
 */
export interface CheckResult {
  check: string;
  /** `note`: it works, and the operator may want to know. `broken`: it does not work. */
  state: 'ok' | 'note' | 'broken';
  found: string;
  /** What to do about it. */
  wayOut?: string;
}

export interface CheckContext {
  config: Config;
  credentials: Credentials | undefined;
  env: Record<string, string | undefined>;
}

export type Check = (patient: CheckContext) => Promise<CheckResult[]>;

const CHECKS: Record<string, Check> = {
  configuration: async ({ env }) => misspeltVariables(env).map(misspeltFinding),
  node: lookAtNode,
  'data directory': lookAtDirectory,
  database: lookAtDatabase,
  secrets: lookAtSecrets,
  temporal: lookAtTemporal,
  instance: lookAtInstance,
  'messaging service': lookAtService,
  providers: lookAtProviders,
  accounts: lookAtAccounts,
  https: lookAtHttpsCertificate,
  'inbound mail': lookAtMailCertificate,
  speech: lookAtSpeech,
};

/** Returns the exit code. */
export async function runDoctor({ json }: { json?: boolean }): Promise<number> {
  const findings = await examine(process.env);
  const broken = findings.filter(({ state }) => state === 'broken').length;
  print(json, { healthy: broken === 0, findings }, [
    ...findings.flatMap(linesOf),
    '',
    broken === 0 ? 'Nothing is broken.' : `${broken} of ${findings.length} checks found something broken.`,
  ]);
  return broken === 0 ? 0 : 1;
}

async function examine(env: Record<string, string | undefined>): Promise<CheckResult[]> {
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    return [brokenBy('configuration', error)];
  }
  const unreadable: CheckResult[] = [];
  const credentials = await readCredentials(config.dataDir).catch((error: unknown) => {
    unreadable.push(brokenBy('credentials', error));
    return undefined;
  });
  installTemporalRuntime(createLog('silent'));
  const patient = { config, credentials, env };
  const looked = await Promise.all(
    Object.entries(CHECKS).map(([check, look]) => look(patient).catch((error) => [brokenBy(check, error)])),
  );
  return [...unreadable, ...looked.flat()];
}

const misspeltFinding = ({ name, meant }: MisspeltVariable): CheckResult => ({
  check: 'configuration',
  state: 'note',
  found: `${name} is not known and has no effect`,
  wayOut: `If ${meant} is meant, correct the name; else unset it.`,
});

function brokenBy(check: string, error: unknown): CheckResult {
  const found = error instanceof Error ? error.message : String(error);
  return {
    check,
    state: 'broken',
    found,
    ...(error instanceof StartupError ? { wayOut: error.wayOut } : {}),
  };
}

const CHECK_CHARS = 18;

function linesOf({ check, state, found, wayOut }: CheckResult): string[] {
  const lines = [`${state.padEnd(6)}  ${check.padEnd(CHECK_CHARS)}  ${printable(found)}`];
  if (wayOut) lines.push(`${' '.repeat(CHECK_CHARS + 10)}${printable(wayOut)}`);
  return lines;
}
