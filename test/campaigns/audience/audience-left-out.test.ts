/** Proves which contacts are left out of an audience, and that the reason is counted. */

import { type Kysely, sql } from 'kysely';
import { suppression } from '../../../src/app/between-halves';
import { freezeAudience } from '../../../src/campaigns/audience/audience';
import { type AudienceSource, audienceOf } from '../../../src/campaigns/audience/audience-sql';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import type { MessagingTables } from '../../../src/messaging/model/tables';
import { upsertSuppressions } from '../../../src/messaging/suppression/suppression-rows';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

type Planted = Awaited<ReturnType<typeof plantRun>>;

describeWithDatabase('whom an audience leaves out', (database) => {
  let db: Kysely<CampaignTables>;
  let messaging: Kysely<MessagingTables>;
  beforeAll(async () => {
    const storage = await database.open();
    db = storage.tables<CampaignTables>();
    messaging = storage.tables<MessagingTables>();
  });

  async function freeze(planted: Planted, more: { from?: string; options?: AudienceSource['options'] } = {}) {
    const { runId, workspaceId, channel, listId } = planted;
    const from = more.from ?? '12345';
    const source = {
      workspaceId,
      settings: { [channel]: { from, templateId: 't', version: 1 } },
      contactListIds: [listId],
      options: more.options ?? {},
    };
    await freezeAudience(db, { runId, ...audienceOf(source, channel, [], suppression) });
    const recipients = await db
      .selectFrom('recipients')
      .select(['contact_id', 'address'])
      .where('run_id', '=', runId)
      .orderBy('seq')
      .execute();
    const run = await db
      .selectFrom('runs')
      .select('skipped')
      .where('id', '=', runId)
      .executeTakeFirstOrThrow();
    return {
      contacts: recipients.map((recipient) => Number(recipient.contact_id.split('-').at(-1))),
      skipped: run.skipped[channel],
    };
  }

  const block = (
    planted: Planted,
    blocks: { address: string; channel?: 'email' | 'sms' | 'voice' | 'all'; sender?: string }[],
  ) =>
    upsertSuppressions(
      messaging,
      planted.workspaceId,
      blocks.map(({ channel = 'all', sender, address }) => ({ channel, sender, address, reason: 'asked' })),
      'api',
    );
  const phone = (i: number) => `+1202200000${i}`;
  const again = async (planted: Planted): Promise<Planted> => {
    const { workspaceId, channel } = planted;
    return { ...(await plantRun(db, { contacts: 0, channel, workspaceId })), listId: planted.listId };
  };

  describe('suppressed addresses', () => {
    test('counts what blocks this channel or all of them, and nothing else', async () => {
      const planted = await plantRun(db, { contacts: 5 });
      await block(planted, [
        { address: phone(1) },
        { address: phone(2), channel: 'sms' },
        { address: phone(3), channel: 'voice' },
        { address: phone(4), channel: 'email' },
      ]);
      const { contacts, skipped } = await freeze(planted);
      expect(contacts).toEqual([3, 4, 5]);
      expect(skipped).toMatchObject({ suppressed: 2, excluded: 0, duplicate_address: 0 });
    });

    test("counts a sender's blocks for that sender only, whatever its name and its case", async () => {
      const planted = await plantRun(db, { contacts: 3, channel: 'email' });
      await block(planted, [
        { address: 'person1@example.com', sender: 'news@example.com' },
        { address: 'person2@example.com', sender: 'shop@example.com' },
      ]);
      const { contacts, skipped } = await freeze(planted, { from: '"The News" <News@Example.com>' });
      expect(contacts).toEqual([2, 3]);
      expect(skipped).toMatchObject({ suppressed: 1 });
    });

    test('is not escaped by writing an address in another case', async () => {
      const planted = await plantRun(db, { contacts: 2, channel: 'email' });
      await sql`update contacts set email = 'Person1@example.com' where id = ${`${planted.listId}-0000001`}`.execute(
        db,
      );
      await block(planted, [{ address: 'person1@example.com' }]);
      expect((await freeze(planted, { from: 'a@example.com' })).contacts).toEqual([2]);
    });

    test("leaves another workspace's list alone", async () => {
      const planted = await plantRun(db, { contacts: 1 });
      await block({ ...planted, workspaceId: 'wsp_other' }, [{ address: phone(1) }]);
      expect((await freeze(planted)).contacts).toEqual([1]);
    });

    test('counts every contact of a suppressed address as suppressed, and none as a duplicate', async () => {
      const planted = await plantRun(db, { contacts: 3 });
      await sql`update contacts set phone = ${phone(1)} where id = ${`${planted.listId}-0000002`}`.execute(
        db,
      );
      await block(planted, [{ address: phone(1) }]);
      const { contacts, skipped } = await freeze(planted);
      expect(contacts).toEqual([3]);
      expect(skipped).toMatchObject({ suppressed: 2, duplicate_address: 0 });
    });
  });

  test('takes two spellings of a mailbox for one, of which the oldest contact keeps it', async () => {
    const planted = await plantRun(db, { contacts: 4, channel: 'email' });
    const spell = (i: number, email: string) =>
      sql`update contacts set email = ${email} where id = ${`${planted.listId}-000000${i}`}`.execute(db);
    await spell(1, 'Ann.Lee@example.com');
    await spell(3, 'ann.lee@example.com');
    await spell(4, 'ANN.LEE@example.com');
    const { contacts, skipped } = await freeze(planted, { from: 'a@example.com' });
    expect(contacts).toEqual([1, 2]);
    expect(skipped).toMatchObject({ duplicate_address: 2 });
    const { address } = await db
      .selectFrom('recipients')
      .select('address')
      .where('run_id', '=', planted.runId)
      .where('seq', '=', 0)
      .executeTakeFirstOrThrow();
    expect(address).toBe('Ann.Lee@example.com');
  });

  describe('excluded campaigns', () => {
    const excluding = (...planted: Planted[]) => ({
      options: { exclude: { campaignIds: planted.map(({ campaignId }) => campaignId) } },
    });
    const setState = (planted: Planted, seq: number, state: string) =>
      sql`update recipients set state = ${state} where run_id = ${planted.runId} and seq = ${seq}`.execute(
        db,
      );

    test('leaves out whom they have reached: handed on, on its way, or in doubt', async () => {
      const first = await plantRun(db, { contacts: 9 });
      await freeze(first);
      const states = [
        'accepted',
        'sent',
        'delivered',
        'unknown',
        'undelivered',
        'failed',
        'canceled',
        'waiting',
      ];
      for (const [seq, state] of states.entries()) await setState(first, seq, state);
      const { contacts, skipped } = await freeze(await again(first), excluding(first));
      expect(contacts).toEqual([5, 6, 7, 8, 9]);
      expect(skipped).toMatchObject({ excluded: 4 });
    });

    test('takes whom a page has taken on for reached, and whom none has for not', async () => {
      const first = await plantRun(db, { contacts: 4 });
      await freeze(first);
      await sql`update shards set next_seq = 3 where run_id = ${first.runId}`.execute(db);
      expect((await freeze(await again(first), excluding(first))).contacts).toEqual([4]);
    });

    test('knows a person by the contact and by the address', async () => {
      const first = await plantRun(db, { contacts: 2 });
      await freeze(first);
      await sql`update shards set next_seq = 2 where run_id = ${first.runId}`.execute(db);
      const second = await plantRun(db, { contacts: 4, workspaceId: first.workspaceId });
      // The same numbers as in the first list: 1 and 2 were called. Then somebody's number changes.
      const moved = `${first.listId}-0000001`;
      await sql`update contacts set phone = '+12023334444' where id = ${moved}`.execute(db);
      await sql`insert into contact_list_members (list_id, contact_id) values (${second.listId}, ${moved})`.execute(
        db,
      );
      const { contacts, skipped } = await freeze(second, excluding(first));
      expect(contacts).toEqual([3, 4]);
      expect(skipped).toMatchObject({ excluded: 3 });
    });

    test('knows an email address however it is written', async () => {
      const first = await plantRun(db, { contacts: 2, channel: 'email' });
      await freeze(first, { from: 'a@example.com' });
      await setState(first, 0, 'delivered');
      const { workspaceId } = first;
      const second = await plantRun(db, { contacts: 2, channel: 'email', workspaceId });
      await sql`update contacts set email = upper(email) where workspace_id = ${workspaceId}
        and id like ${`${second.listId}-%`}`.execute(db);
      const { contacts, skipped } = await freeze(second, { ...excluding(first), from: 'a@example.com' });
      expect(contacts).toEqual([2]);
      expect(skipped).toMatchObject({ excluded: 1 });
    });

    test('counts every run of a campaign, and of each campaign', async () => {
      const first = await plantRun(db, { contacts: 3 });
      await freeze(first);
      await setState(first, 0, 'sent');
      const rerun = await again(first);
      await sql`update runs set campaign_id = ${first.campaignId}, number = 2 where id = ${rerun.runId}`.execute(
        db,
      );
      await freeze(rerun);
      await setState(rerun, 1, 'sent');
      const other = await again(first);
      await freeze(other);
      await setState(other, 2, 'sent');
      expect((await freeze(await again(first), excluding(first))).contacts).toEqual([3]);
      expect((await freeze(await again(first), excluding(first, other))).contacts).toEqual([]);
    });

    test('counts what was reached on the same channel only', async () => {
      const first = await plantRun(db, { contacts: 1 });
      await freeze(first);
      await setState(first, 0, 'delivered');
      const second = { ...(await again(first)), channel: 'voice' as const };
      expect((await freeze(second, { ...excluding(first), from: '+12025550100' })).contacts).toEqual([1]);
    });

    test('takes no longer for ledgers that the planner knows nothing of', async () => {
      const first = await plantRun(db, { contacts: 20_000 });
      await freeze(first);
      await sql`update shards set next_seq = 15000 where run_id = ${first.runId}`.execute(db);
      const second = await again(first);
      const startedAt = Date.now();
      const { skipped } = await freeze(second, excluding(first));
      expect(skipped).toMatchObject({ excluded: 15_000 });
      // Two seconds on a busy machine; a loop over all pairs takes a minute.
      expect(Date.now() - startedAt).toBeLessThan(20_000);
    }, 150_000);

    test('knows nothing of campaigns of other workspaces', async () => {
      const first = await plantRun(db, { contacts: 1 });
      await freeze(first);
      await setState(first, 0, 'delivered');
      const stranger = await plantRun(db, { contacts: 1 });
      expect((await freeze(stranger, excluding(first))).contacts).toEqual([1]);
    });
  });
});
