/** Proves that a server that only reads is named as that, and that its connections are given up. */

import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sql } from 'kysely';
import { Client } from 'pg';
import { lookAtPostgres } from '../../src/storage/look-at-postgres';
import { requireWrites } from '../../src/storage/require-writes';
import { openStorage } from '../../src/storage/storage';
import { makeCluster } from '../support/postgres-server';
import { runTied } from '../support/run-tied';
import { describeWithDatabase } from '../support/storage';

const takesNone = (why: string) => ({
  message: `PostgreSQL at DATABASE_URL takes no changes: ${why}`,
  wayOut: expect.stringContaining('lead to the primary'),
  // A failover ends, and so does a full disk.
  mayPass: true,
});

describeWithDatabase('a database whose transactions are read-only by default', (database) => {
  test('is refused at the start as that, and named to the operator', async () => {
    const { databaseUrl } = await database.place({ migrated: true });
    const client = new Client({ connectionString: databaseUrl });
    await client.connect();
    const name = client.escapeIdentifier(new URL(databaseUrl).pathname.slice(1));
    await client.query(`alter database ${name} set default_transaction_read_only = on`);
    await client.end();
    const why = 'default_transaction_read_only is on';
    await expect(openStorage({ databaseUrl })).rejects.toMatchObject(takesNone(why));
    expect((await lookAtPostgres(databaseUrl)).readsOnly).toBe(why);
  });

  test('is asked on a connection that is replaced, so that one which leads to a new primary is found', async () => {
    const db = (await database.open({ poolSize: 1 })).tables();
    await requireWrites(db);
    await sql`set session characteristics as transaction read only`.execute(db);
    await expect(requireWrites(db)).rejects.toMatchObject({ code: '25006' });
    await requireWrites(db);
  });
});

test('a standby is refused at the start as that, and named to the operator', async () => {
  const { command, args, options, data, directory, url } = await makeCluster({ hot_standby: 'on' });
  const { uid, gid } = options;
  writeFileSync(join(data, 'standby.signal'), '');
  if (uid !== undefined && gid !== undefined) chownSync(join(data, 'standby.signal'), uid, gid);
  const server = runTied(command, args, { ...options, stopSignal: 'SIGINT' });
  try {
    await server.untilReady(() =>
      lookAtPostgres(url).then(
        () => true,
        () => false,
      ),
    );
    await expect(openStorage({ databaseUrl: url })).rejects.toMatchObject(
      takesNone('the server is a standby'),
    );
    expect((await lookAtPostgres(url)).readsOnly).toBe('it is a standby');
  } finally {
    await server.stop();
    rmSync(directory, { recursive: true, force: true });
  }
}, 60_000);
