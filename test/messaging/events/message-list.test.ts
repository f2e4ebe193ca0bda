/** Proves that a list of messages has each once, also of those that were accepted at one time. */

import { sql } from 'kysely';
import type { MessageList } from '../../../src/contracts/messages';
import { listMessages } from '../../../src/messaging/events/message-list';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { newId } from '../../../src/storage/new-id';
import { openStorage, type Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';

const FIRST_MS = Date.parse('2026-06-01T00:00:00Z');
const MESSAGES = 300;
/** Accepted by one statement, and therefore at one time. */
const TOGETHER = 70;

describeWithDatabase('a list of messages', (database) => {
  let storage: Storage;
  beforeAll(async () => {
    storage = await openStorage(await database.place({ migrated: true }));
    // Ids are made in no order of acceptance, as by two processes.
    const ids = Array.from({ length: MESSAGES }, (_, n) => newId('msg', FIRST_MS + ((n * 37) % MESSAGES)));
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, campaign, class,
        payload_hash, state, lane, accepted_seq, created_at)
      select (${ids}::text[])[n + 1], 'w', 'u' || n, case when n % 3 = 0 then 'email' else 'sms' end, 'a' || n % 2, 'b', '{}',
        'c', 'marketing', 'h', case when n % 2 = 0 then 'failed' else 'sent' end, 'l', n,
        ${new Date(FIRST_MS).toISOString()}::timestamptz + n / ${TOGETHER}::int * interval '1 second'
      from generate_series(0, ${MESSAGES - 1}::int) n`.execute(storage.tables());
  });
  afterAll(() => storage.close());

  const list = (query: Partial<MessageList>, workspaceId = 'w') =>
    listMessages(storage.tables<MessagingTables>(), workspaceId, { limit: 50, ...query } as MessageList);

  async function listAll(query: Partial<MessageList>, workspaceId?: string) {
    const all = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const { messages, next } = await list(cursor ? { ...query, cursor } : query, workspaceId);
      all.push(...messages);
      cursor = next;
    }
    return all;
  }

  const at = (seconds: number) => new Date(FIRST_MS + seconds * 1_000);

  test.each<[string, Partial<MessageList>, number]>([
    ['nothing', {}, 300],
    ['a page of one', { limit: 1 }, 300],
    ['a campaign', { campaign: 'c' }, 300],
    ['a channel', { channel: 'email' }, 100],
    ['a bad end', { state: 'failed' }, 150],
    ['an address', { to: 'a1' }, 150],
    ['a time', { from: at(1), to: at(3) }, 140],
    ['a time and a channel', { from: at(1), to: at(3), channel: 'email' }, 46],
  ])('asked for %s has each message once, newest first', async (_, query, count) => {
    const found = await listAll(query);
    const order = found.map(({ createdAt, id }) => `${createdAt} ${id}`);
    expect(order).toEqual([...order].sort().reverse());
    expect(new Set(found.map(({ uid }) => uid)).size).toBe(count);
    expect(found).toHaveLength(count);
  });

  describe('asked for an email address', () => {
    const WRITTEN = ['ann@example.com', 'Ann@Example.com', 'ANN@EXAMPLE.COM', 'ann.b@example.com'];

    beforeAll(async () => {
      const ids = Array.from({ length: 80 }, (_, n) => newId('msg', FIRST_MS + n));
      await sql`
        insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, campaign, class,
          payload_hash, state, lane, accepted_seq, created_at)
        select (${ids}::text[])[n + 1], case when n < 60 then 'mail' else 'other' end, 'm' || n, 'email',
          (${WRITTEN}::text[])[n % 4 + 1], 'b', '{}', case when n < 8 then 'c' end, 'marketing', 'h', 'sent', 'l', n,
          ${new Date(FIRST_MS).toISOString()}::timestamptz + n / 10 * interval '1 second'
        from generate_series(0, 79) n`.execute(storage.tables());
    });

    test.each(WRITTEN.slice(0, 3))('it has what was sent to %s, however it was written', async (to) => {
      const found = await listAll({ to, limit: 7 }, 'mail');
      const sent = Array.from({ length: 60 }, (_, n) => n).filter((n) => n % 4 < 3);
      expect(found.map(({ uid }) => uid)).toEqual(sent.map((n) => `m${n}`).reverse());
      const ofCampaign = await listAll({ to, campaign: 'c' }, 'mail');
      expect(ofCampaign.map(({ uid }) => uid)).toEqual(['m6', 'm5', 'm4', 'm2', 'm1', 'm0']);
    });

    test('it has no message to another', async () => {
      const found = await listAll({ to: 'ANN.B@example.com' }, 'mail');
      expect(new Set(found.map(({ to }) => to))).toEqual(new Set(['ann.b@example.com']));
      expect(await list({ to: 'nn@example.com' }, 'mail')).toEqual({ messages: [], next: null });
    });
  });

  test('goes on behind a message that is deleted by now', async () => {
    const { messages, next } = await list({});
    expect(next).not.toBeNull();
    await sql`delete from messages where id = ${next}`.execute(storage.tables());
    const rest = await listAll({ cursor: next as string });
    const seen = new Set(messages.map(({ uid }) => uid));
    expect(rest.filter(({ uid }) => seen.has(uid))).toEqual([]);
    expect(rest.length).toBeGreaterThan(0);
  });
});
