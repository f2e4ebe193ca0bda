/** Proves that a workspace’s campaigns go on with a new key when theirs is revoked, and stop when their client is disabled. */

import { type Kysely, sql } from 'kysely';
import pino from 'pino';
import { openServiceGateways } from '../../src/app/service-gateway';
import { Shutdown } from '../../src/app/shutdown';
import type { AuditTables } from '../../src/audit/tables';
import { readConfig } from '../../src/config';
import type { Credentials } from '../../src/credentials/credentials';
import { createLog } from '../../src/log';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { OwnRequests } from '../../src/own-requests';
import type { Storage } from '../../src/storage/storage';
import { newWorkspace } from '../http/service';
import { startWholeApi, type WholeApi } from '../http/whole-api';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('the credentials of campaigns', (database) => {
  let storage: Storage;
  let db: Kysely<MessagingTables>;
  let api: WholeApi;
  let first: Credentials;
  let workspaceId: string;
  const shutdown = new Shutdown(createLog('silent'));

  beforeAll(async () => {
    storage = await database.open();
    db = storage.tables<MessagingTables>();
    api = await startWholeApi(storage);
    first = { ...(await newWorkspace(api.identity)), baseUrl: api.url };
  });
  beforeEach(async () => {
    workspaceId = (await newWorkspace(api.identity)).workspace.id;
  });
  afterAll(async () => {
    await shutdown.closeAll();
    await api.stop();
  });

  /** As a process of this installation has it. */
  const gateway = (own: Credentials = first, log = createLog('silent')) =>
    openServiceGateways(
      {
        config: readConfig({}),
        credentials: () => own,
        db,
        own: new OwnRequests(),
        log,
      },
      shutdown,
    ).gatewayFor(workspaceId);
  const ownKeys = async () =>
    (await api.identity.apiKeys.list(workspaceId, { page: 1, limit: 10 })).keys
      .filter(({ name }) => name === 'Campaigns')
      .map(({ id, prefix, revokedAt }) => ({ id, prefix, isRevoked: revokedAt !== null }))
      .reverse();
  const keysMade = () =>
    storage
      .tables<AuditTables>()
      .selectFrom('audit_entries')
      .select(['actor_kind', 'object_id', 'detail'])
      .where('workspace_id', '=', workspaceId)
      .where('action', '=', 'key.create')
      .execute();

  test('a revoked key is replaced by another one, in every process, and the audit log has it', async () => {
    const [one, other] = [gateway(), gateway()];
    expect([await one.isHeld('c'), await other.isHeld('c')]).toEqual([false, false]);
    const [key] = await ownKeys();
    expect(await keysMade()).toEqual([]);
    await api.identity.apiKeys.revoke(workspaceId, key?.id ?? '');
    expect([await one.isHeld('c'), await other.isHeld('c')]).toEqual([false, false]);
    const [revoked, present, ...more] = await ownKeys();
    expect([revoked, present?.isRevoked, more]).toEqual([{ ...key, isRevoked: true }, false, []]);
    expect(present?.prefix).not.toBe(key?.prefix);
    expect(await keysMade()).toEqual([
      { actor_kind: 'system', object_id: present?.id, detail: { replaces: key?.id } },
    ]);
    expect(await gateway().isHeld('c')).toBe(false);
  });

  test('the log says that a key was replaced once it is stored', async () => {
    const written: string[] = [];
    const one = gateway(first, pino({ level: 'warn' }, { write: (line: string) => void written.push(line) }));
    await one.isHeld('c');
    const [key] = await ownKeys();
    await api.identity.apiKeys.revoke(workspaceId, key?.id ?? '');
    await sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'no space left'; end $$;
      create constraint trigger refused after insert on api_keys deferrable initially deferred
      for each row execute function refuse()`.execute(db);
    await expect(one.isHeld('c')).rejects.toThrow('no space left');
    expect([written, await keysMade()]).toEqual([[], []]);
    await sql`drop function refuse cascade`.execute(db);
    expect(await one.isHeld('c')).toBe(false);
    expect(written.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ workspaceId, replaces: key?.id, keyId: (await ownKeys()).at(-1)?.id }),
    ]);
  });

  test('each key that is revoked gets one that follows it', async () => {
    const one = gateway();
    for (let revoked = 0; revoked < 3; revoked++) {
      await one.isHeld('c');
      const present = (await ownKeys()).at(-1);
      await api.identity.apiKeys.revoke(workspaceId, present?.id ?? '');
    }
    expect(await one.isHeld('c')).toBe(false);
    expect((await ownKeys()).map(({ isRevoked }) => isRevoked)).toEqual([true, true, true, false]);
    expect(new Set((await ownKeys()).map(({ prefix }) => prefix)).size).toBe(4);
    expect(await keysMade()).toHaveLength(3);
  });

  test('a replaced secret of the installation revives no key', async () => {
    await gateway().isHeld('c');
    const [key] = await ownKeys();
    await api.identity.apiKeys.revoke(workspaceId, key?.id ?? '');
    const rotated = gateway({ ...first, client: { ...first.client, secret: 'ffs_another' } });
    expect(await rotated.isHeld('c')).toBe(false);
    expect((await ownKeys()).map(({ isRevoked }) => isRevoked)).toEqual([true, false]);
  });

  test('the client of the campaigns is not rotated, because the next token would undo it', async () => {
    const one = gateway();
    await one.isHeld('c');
    const clientId = `cli_campaigns_${workspaceId}`;
    const { clients } = api.identity;
    const other = await newWorkspace(api.identity);
    for (const overlapHours of [0, 1]) {
      const input = { overlapHours, revokeTokens: true };
      await expect(clients.rotate(workspaceId, clientId, input)).rejects.toMatchObject({
        code: 'campaigns_client',
        message: expect.stringMatching(/credentials\.json.*disabl/),
      });
      await expect(clients.rotate(other.workspace.id, clientId, input)).rejects.toMatchObject({
        code: 'not_found',
      });
      expect((await clients.rotate(other.workspace.id, other.client.id, input)).secret).toMatch(/^ffs_/);
    }
    expect((await clients.list(workspaceId, { page: 1, limit: 10 })).clients[0]).toMatchObject({
      id: clientId,
      oldSecretValidTill: null,
    });
    expect([await one.isHeld('c'), await gateway().isHeld('c')]).toEqual([false, false]);
  });

  test('campaigns whose secret was given an end by a rotation, or by a process with the former one, go on', async () => {
    await gateway().isHeld('c');
    const ofCampaigns = db
      .updateTable('api_client_secrets')
      .where('client_id', '=', `cli_campaigns_${workspaceId}`);
    await ofCampaigns.set({ valid_till: new Date(Date.now() - 1000) }).execute();
    expect(await gateway().isHeld('c')).toBe(false);

    const another = { ...first, client: { ...first.client, secret: 'ffs_another' } };
    await gateway(another).isHeld('c');
    await gateway(first).isHeld('c');
    await ofCampaigns
      .set({ valid_till: new Date(Date.now() - 1000) })
      .where('valid_till', 'is not', null)
      .execute();
    expect(await gateway(another).isHeld('c')).toBe(false);
  });

  test('a disabled client stops the campaigns, and no key is made for it', async () => {
    const one = gateway();
    await one.isHeld('c');
    const [key] = await ownKeys();
    await api.identity.apiKeys.revoke(workspaceId, key?.id ?? '');
    const clientId = `cli_campaigns_${workspaceId}`;
    await api.identity.clients.disable(workspaceId, clientId);
    await expect(one.isHeld('c')).rejects.toMatchObject({ code: 'invalid_client' });
    expect(await ownKeys()).toHaveLength(1);
    await api.identity.clients.enable(workspaceId, clientId);
    expect(await gateway().isHeld('c')).toBe(false);
    expect(await ownKeys()).toHaveLength(2);
  });
});
