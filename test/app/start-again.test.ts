/** Proves that a start survives a database that goes away in its middle. */

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import pino from 'pino';
import { type App, startApp } from '../../src/app/app';
import { readConfig } from '../../src/config';
import { openLine } from '../support/line';
import { freshNamespace } from '../support/namespaces';
import { postgresUrl } from '../support/services';
import { until } from '../support/until';

test('a database that goes away in the middle of a start is waited for, and the start made anew', async () => {
  const database = `again_${randomUUID().replaceAll('-', '')}`;
  const server = await postgresUrl();
  const administer = async (statement: string) => {
    const client = new Client({ connectionString: server });
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  await administer(`create database ${database}`);
  const { address, namespace } = await freshNamespace();
  const toDatabase = await openLine(() => Number(new URL(server).port));
  const toTemporal = await openLine(() => Number(address.split(':')[1]));
  const dataDir = mkdtempSync(join(tmpdir(), 'fanfare-again-'));
  const url = new URL(server);
  url.host = `127.0.0.1:${toDatabase.port}`;
  url.pathname = `/${database}`;
  const env = {
    DATABASE_URL: url.href,
    TEMPORAL_ADDRESS: `127.0.0.1:${toTemporal.port}`,
    TEMPORAL_NAMESPACE: namespace,
    FANFARE_DATA_DIR: dataDir,
    FANFARE_HTTP_PORT: '0',
  };
  const waited: string[] = [];
  const said = (line: string) => {
    const { msg } = JSON.parse(line) as { msg: string };
    if (!msg.includes('trying again for')) return;
    waited.push(msg.split(' ')[0] === 'PostgreSQL' ? 'database' : 'temporal');
    // The start has its database by now, and loses it while it waits for something else.
    if (msg.includes('Temporal')) {
      toDatabase.cut();
      toTemporal.mend();
    } else toDatabase.mend();
  };
  toTemporal.cut();
  let app: App | undefined;
  try {
    app = await startApp({
      config: readConfig(env),
      log: pino({ level: 'warn' }, { write: said }),
      http: true,
      roles: [],
      env,
      onProgress: () => undefined,
      signal: new AbortController().signal,
    });
    expect(waited).toEqual(['temporal', 'database']);
    expect((await fetch(`${app.baseUrl}/readyz`)).status).toBe(200);
    // As hosters do whose disk is nearly full, and as a standby does.
    await administer(`alter database ${database} set default_transaction_read_only = on`);
    await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${database}'`);
    const unready = await fetch(`${app.baseUrl}/readyz`);
    expect([unready.status, await unready.text()]).toEqual([
      503,
      expect.stringContaining('Not ready: database'),
    ]);
    await administer(`alter database ${database} reset default_transaction_read_only`);
    const { baseUrl } = app;
    await until('it is ready again', async () => (await fetch(`${baseUrl}/readyz`)).ok);
  } finally {
    await app?.stop();
    toDatabase.close();
    toTemporal.close();
    rmSync(dataDir, { recursive: true, force: true });
    await administer(`drop database if exists ${database} with (force)`);
  }
}, 120_000);
