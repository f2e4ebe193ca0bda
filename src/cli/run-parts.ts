import { type App, startApp } from '../app/app';
import { type Config, readConfig } from '../config';
import { misspeltVariables } from '../config-misspelt';
import { credentialsFile } from '../credentials/credentials';
import type { Role } from '../domain/task-queues';
import { createLog } from '../log';
import { installTemporalRuntime } from '../temporal/runtime';
import { runFirstDemo } from './first-demo';
import { createProgressLine } from './progress-line';
import { listenForStop } from './stop-signals';

export interface Parts {
  http: boolean;
  roles: readonly Role[];
  demo: boolean;
}

/** Runs parts of the program until a signal ends them; returns the exit code. */
export async function runParts({ http, roles, demo }: Parts): Promise<number> {
  const stop = listenForStop();
  const config = readConfig(process.env);
  const log = createLog(config.logLevel);
  for (const misspelt of misspeltVariables(process.env))
    log.warn(misspelt, 'A variable is not known and has no effect; correct its name, or unset it');
  const { temporalPort } = config.metrics;
  installTemporalRuntime(log, temporalPort === undefined ? undefined : `${config.http.host}:${temporalPort}`);
  const line = createProgressLine(process.stdout);
  let app: App | undefined;
  let demonstrated: Promise<void> = Promise.resolve();
  try {
    app = await startApp({
      config,
      log,
      http,
      roles,
      env: process.env,
      signal: stop.signal,
      onProgress: (text) => line.update(text),
    });
    line.finish();
    announce(app, config);
    if (demo) demonstrated = runFirstDemo(app, config, stop.signal);
    await Promise.race([untilAborted(stop.signal), app.failed, failureOf(demonstrated)]);
    return 0;
  } catch (error) {
    if (stop.signal.aborted) return 0;
    throw error;
  } finally {
    line.finish();
    if (stop.signal.aborted) {
      // The demo removes its own line from the terminal first.
      await demonstrated.catch(() => undefined);
      process.stdout.write('Stopping.\n');
    }
    await app?.stop();
    stop.dispose();
  }
}

function announce(app: App, config: Config): void {
  const lines = ['Fanfare is ready.'];
  // The certificate and the cookies are for the public address.
  const shown = app.baseUrl && (config.http.publicUrl ?? app.baseUrl);
  if (app.servesConsole) lines.push(`  Console         ${shown}/console/`);
  if (shown) lines.push(`  API             ${shown}`);
  if (shown && app.localUrl !== shown) lines.push(`  On this machine ${app.localUrl}`);
  if (app.temporalUiUrl) lines.push(`  Temporal web UI ${app.temporalUiUrl}`);
  if (app.baseUrl && app.credentials) lines.push(`  Credentials     ${credentialsFile(config.dataDir)}`);
  if (app.servesConsole && app.credentials)
    lines.push(`  Sign in as ${app.credentials.user.email}; the password is in that file, under user.`);
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function untilAborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise<void>((done) => signal.addEventListener('abort', () => done(), { once: true }));
}

/** Never resolves, because a finished demo is no reason to stop serving; rejects when it failed. */
async function failureOf(work: Promise<unknown>): Promise<never> {
  await work;
  return new Promise(() => undefined);
}
