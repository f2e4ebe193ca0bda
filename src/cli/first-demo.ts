import { join, resolve } from 'node:path';
import type { App } from '../app/app';
import { type Config, readConfig } from '../config';
import { type Credentials, readCredentials } from '../credentials/credentials';
import { CHANNELS } from '../domain/channel';
import { StartupError } from '../startup-error';
import { type DemoOptions, runDemo } from './demo';

/** The sample that ships with the project, found from the build and from source. */
const SAMPLE = resolve(
  __dirname,
  `${__filename.endsWith('.ts') ? '../..' : '../../..'}/samples/contacts.csv`,
);

/** `up --demo`: once per data directory, and never where a message could reach a person. */
export async function runFirstDemo(app: App, config: Config, signal: AbortSignal): Promise<void> {
  const real = CHANNELS.filter((channel) => config.providers[channel] !== 'simulator');
  if (real.length) {
    process.stdout.write(`No demo: ${real.join(', ')} would be sent for real.\n`);
    return;
  }
  if (!app.localUrl || !app.credentials) {
    process.stdout.write('No demo: this installation has workspaces, and no credentials.json to use one.\n');
    return;
  }
  const outcome = await runDemo({ ...demoOptions(config, app.credentials, app.localUrl), signal });
  if (outcome.result === 'done before') {
    process.stdout.write('The demo has run already; `fanfare demo` runs it again.\n');
  }
}

/** `fanfare demo`: on a running instance, under a new name. */
export async function repeatDemo(): Promise<number> {
  const config = readConfig(process.env);
  const credentials = await readCredentials(config.dataDir);
  if (!credentials) {
    throw new StartupError(
      `There is no credentials.json in ${config.dataDir}`,
      'Start an instance with `fanfare up` first, or let FANFARE_DATA_DIR name its directory.',
    );
  }
  const outcome = await runDemo({ ...demoOptions(config, credentials, credentials.baseUrl), again: true });
  return outcome.result === 'completed' ? 0 : 1;
}

function demoOptions(config: Config, credentials: Credentials, baseUrl: string): DemoOptions {
  return {
    baseUrl,
    credentials,
    csvPath: SAMPLE,
    stateFile: join(config.dataDir, 'demo.json'),
    out: process.stdout,
  };
}
