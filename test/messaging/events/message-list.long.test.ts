import { type Kysely, sql } from 'kysely';
import type { MessageList } from '../../../src/contracts/messages';
import { LIMITS } from '../../../src/domain/limits';
import { listMessages } from '../../../src/messaging/events/message-list';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { newId } from '../../../src/storage/new-id';
import { openStorage, type Storage } from '../../../src/storage/storage';
import {
  type Explained,
  type ExplainingDatabase,
  nodesOf,
  openExplaining,
  rowsRead,
} from '../../support/explained';
import { describeWithDatabase } from '../../support/storage';

const MESSAGES = 1_000_000;
/** One a second, the last one at this time. */
const LAST_MS = Date.parse('2026-06-01T00:00:00Z');
/** Accepted by one statement, and therefore at one time. */
const TOGETHER = 500;
const PAGE = 20;
const UNUSED = 'ann@example.com';
/** Every twentieth message is to this address, and as many of the other workspace are to the next. */
const OFTEN = 'Often@Example.com';
const THEIRS = 'Theirs@Example.com';

/** Beside a million messages, of which one in ten is of the other workspace, plans may read little more than a page. */
describeWithDatabase('a list of messages among a million', (database) => {
  let storage: Storage;
  let at: ExplainingDatabase;

  beforeAll(async () => {
    const place = await database.place();
    storage = await openStorage(place);
    at = await openExplaining(place);
    const db = storage.tables<MessagingTables>();
    const idAt = (ms: number) => newId('msg', ms, new Uint8Array(16)).slice(0, 14);
    // The ids of the first hundred thousandths, and a number after each: as in the product, they sort by age.
    const ids = Array.from({ length: 1_000 }, (_, i) => idAt(LAST_MS - (1_000 - i) * 1_000_000));
    await sql`
      insert into messages (id, workspace_id, uid, channel, to_address, from_address, params, campaign, class,
        payload_hash, state, lane, accepted_seq, created_at)
      select (${ids}::text[])[1 + i / 1000] || lpad((i % 1000)::text, 16, '0'),
        case when i % 10 = 0 then 'ws_other' else 'ws_own' end, 'u' || i,
        case when i < 200 then 'voice' when i % 100 = 1 or i % 20 in (0, 5) then 'email' else 'sms' end,
        case when i >= 200 and i % 20 = 5 then ${OFTEN} when i >= 200 and i % 20 = 0 then ${THEIRS}
          when i >= 200 and i % 100 = 1 then 'Ann' || i % 5000 || '@example.com' else '+1' || (2020000000 + i % 200000) end,
        case when i < 200 then '54321' else '12345' end, '{}',
        case when i < 300 then 'old' when i % 2 = 0 then 'large' end, 'marketing', 'h',
        case when i < 100 then 'failed' when i < 200 then 'sent' else 'delivered' end, 'l', i,
        to_timestamp(${LAST_MS / 1_000 - MESSAGES} + i - i % ${TOGETHER})
      from generate_series(0, ${MESSAGES - 1}) i`.execute(db);
  }, 300_000);
  afterAll(async () => {
    await at.close();
    await storage.close();
  });

  async function list(query: Partial<MessageList>) {
    at.take();
    const db = at.db as unknown as Kysely<MessagingTables>;
    const found = await listMessages(db, 'ws_own', { limit: PAGE, ...query } as MessageList);
    const read = at.take().map(({ plan }) => rowsRead(plan, 'messages'));
    return { ...found, read: Math.max(...read) };
  }

  const hour = (hours: number) => new Date(LAST_MS - hours * 3_600_000);

  describe.each([false, true])('analyzed: %s', (isAnalyzed) => {
    beforeAll(async () => {
      if (isAnalyzed) await sql`analyze messages`.execute(storage.tables());
    });

    test.each<[string, Partial<MessageList>]>([
      ['nothing', {}],
      ['a campaign', { campaign: 'large' }],
      ['an old campaign', { campaign: 'old' }],
      ['the failed', { state: 'failed' }],
      ['the delivered', { state: 'delivered' }],
      ['an address', { to: '+12020000007' }],
      ['an email address', { to: 'ann101@example.com' }],
      ['an email address of no message', { to: UNUSED }],
      ['an email address of very many messages', { to: OFTEN }],
      ['it in lower case', { to: OFTEN.toLowerCase() }],
      ['an email address of very many messages of another workspace', { to: THEIRS }],
      ['a channel', { channel: 'sms' }],
      ['a sender', { from: '12345' }],
      ['an hour long ago', { from: hour(200), to: hour(199) }],
      ['all before an hour', { to: hour(150) }],
    ])('asked for %s it reads little more than it answers', async (_, query) => {
      const { messages, read } = await list(query);
      expect(messages.length > 0).toBe(query.to !== UNUSED && query.to !== THEIRS);
      expect(read).toBeLessThanOrEqual(5_000);
    });

    test.each<[string, Partial<MessageList>]>([
      ['a channel', { channel: 'voice' }],
      ['a sender', { from: '54321' }],
      ['a state', { state: 'sent' }],
      ['a state of a campaign', { campaign: 'large', state: 'rejected' }],
    ])(
      'asked for %s that only the oldest have it looks at so many, and says where it goes on',
      async (_, query) => {
        const { messages, next, read } = await list(query);
        expect([messages, typeof next]).toEqual([[], 'string']);
        expect(read).toBeLessThanOrEqual(LIMITS.messagesLookedAt * 1.2);
      },
    );
  });

  test('pages of an email address of very many messages read little more than they answer', async () => {
    const found: string[] = [];
    for (let cursor: string | undefined; found.length < 300; ) {
      const { messages, next, read } = await list({ to: OFTEN, limit: 100, ...(cursor ? { cursor } : {}) });
      expect(read).toBeLessThanOrEqual(5_000);
      found.push(...messages.map(({ uid }) => uid));
      cursor = next ?? undefined;
    }
    expect(found).toEqual(Array.from({ length: 300 }, (_, n) => `u${MESSAGES - 15 - 20 * n}`));
  });

  test.each(['plan', 'generic'] as const)(
    'the %s for an email address reads one index for each way to write it',
    async (which) => {
      await sql`analyze messages`.execute(storage.tables());
      at.take();
      await listMessages(at.db as unknown as Kysely<MessagingTables>, 'ws_own', {
        limit: PAGE,
        to: OFTEN,
      } as MessageList);
      const [asked] = at.take();
      const scans = [...nodesOf((asked as Explained)[which])].flatMap((node) =>
        node['Index Name']?.startsWith('messages_') ? [node['Index Name']] : [],
      );
      expect(scans.sort()).toEqual(['messages_latest_to', 'messages_latest_to_mixed']);
    },
  );

  test('page after page comes to the oldest, each message once', async () => {
    const found: string[] = [];
    let pages = 0;
    for (let cursor: string | undefined; pages < 100; pages++) {
      const { messages, next } = await list({ channel: 'voice', limit: 100, ...(cursor ? { cursor } : {}) });
      found.push(...messages.map(({ uid }) => uid));
      if (next === null) break;
      cursor = next;
    }
    const voice = Array.from({ length: 200 }, (_, i) => i).filter((i) => i % 10 !== 0);
    expect(found).toEqual(voice.map((i) => `u${i}`).reverse());
    expect(pages).toBeLessThan(15);
  }, 60_000);
});
