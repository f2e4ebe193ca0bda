import { type Kysely, sql } from 'kysely';
import type { CampaignTables } from '../../../src/campaigns/model/tables';
import {
  listRecipients,
  type RecipientFilter,
  type RecipientPosition,
} from '../../../src/campaigns/reports/recipients';
import { readCounts } from '../../../src/campaigns/runs/ledger-counts';
import type { Channel } from '../../../src/domain/channel';
import { RECIPIENT_STATES } from '../../../src/domain/recipient';
import { plantRun } from '../../support/audience';
import { describeWithDatabase } from '../../support/storage';

const SHARD = 40;
const SHARDS = 3;

/**
 * A list of one state says what the whole list says of it, although it passes over shards, reads rare states by another
 * index, and stops after so many recipients.
 */
describeWithDatabase('recipients listed by state', (database) => {
  let db: Kysely<CampaignTables>;
  let runId: string;

  beforeAll(async () => {
    db = (await database.open()).tables<CampaignTables>();
    ({ runId } = await plantRun(db, { contacts: 0 }));
    await plantChannel('sms');
    await plantChannel('voice');
    await sql`
      insert into shard_counts (run_id, channel, shard, state, count)
      select run_id, channel, shard, state, count(*) from recipients
      where run_id = ${runId} and state <> 'pending' group by 1, 2, 3, 4`.execute(db);
    await sql`
      insert into recipient_codes (run_id, channel, state, code, slot, count)
      select run_id, channel, state, code, shard % 8, count(*) from recipients
      where run_id = ${runId} and code is not null group by 1, 2, 3, 4, 5`.execute(db);
    await sql`update runs set phase = 'running', codes_counted = true where id = ${runId}`.execute(db);
  });

  /** The first shard has ended, of the second half is taken and two pages are open, and the third is untouched. */
  async function plantChannel(channel: Channel): Promise<void> {
    await sql`
      insert into recipients (run_id, channel, seq, shard, contact_id, address, params, due_at, state, code)
      select ${runId}, ${channel}, i, i / ${SHARD}, ${channel} || i, '+1' || (2020000000 + i), '{}', now(),
        case when i = 7 then 'unknown' when i = 9 then 'failed' when i = 11 then 'sent'
          when i = 13 then 'accepted' when i < ${SHARD} then 'delivered'
          when i between 44 and 46 then 'waiting' when i between 41 and 43 then 'suppressed' else 'pending' end,
        case when i = 7 then 'answer_lost' when i = 9 then 'spam_refused' when i between 44 and 45 then 'busy' end
      from generate_series(0, ${SHARD * SHARDS - 1}::int) i`.execute(db);
    await sql`
      insert into shards (run_id, channel, shard, from_seq, to_seq, next_seq)
      select ${runId}, ${channel}, i, i * ${SHARD}, (i + 1) * ${SHARD},
        case i when 0 then ${SHARD} when 1 then ${SHARD + 20} else i * ${SHARD} end
      from generate_series(0, ${SHARDS - 1}::int) i`.execute(db);
    await sql`
      insert into pages (run_id, channel, shard, page, lane, fence, from_seq, to_seq, resolved, seqs) values
        (${runId}, ${channel}, 1, 0, 0, 1, 50, 60, 4, null),
        (${runId}, ${channel}, 1, 1, 1, 1, 0, 0, 0, array[44])`.execute(db);
  }

  async function seqsOf(filter: RecipientFilter, limit: number, lookAt?: number): Promise<string[]> {
    const found: string[] = [];
    let after: RecipientPosition | undefined;
    do {
      const page = await listRecipients(db, runId, {
        ...filter,
        after,
        limit,
        ...(lookAt ? { lookAt } : {}),
      });
      expect(page.recipients.length).toBeLessThanOrEqual(limit);
      found.push(...page.recipients.map(({ id }) => id));
      after = page.next;
    } while (after);
    return found;
  }

  async function byWholeList(): Promise<Record<string, string[]>> {
    const { recipients } = await listRecipients(db, runId, { limit: 1_000 });
    return Object.fromEntries(
      RECIPIENT_STATES.map((state) => [
        state,
        recipients.filter((one) => one.state === state).map(({ id }) => id),
      ]),
    );
  }

  test.each([
    ['a page for all', 1_000, undefined],
    ['small pages', 3, undefined],
    ['pages of which each looks at few recipients', 3, 7],
  ])('each state is what the whole list says of it: %s', async (_title, limit, lookAt) => {
    for (const control of ['run', 'cancel']) {
      await sql`update runs set control = ${control} where id = ${runId}`.execute(db);
      const whole = await byWholeList();
      const listed: typeof whole = {};
      for (const state of RECIPIENT_STATES) {
        listed[state] = await seqsOf({ state }, limit, lookAt);
        const ofVoice = await seqsOf({ state, channel: 'voice' }, limit, lookAt);
        expect(ofVoice).toEqual(whole[state]?.filter((id) => id.includes('.voice.')));
      }
      expect(listed).toEqual(whole);
      const counts = await readCounts(db, runId);
      for (const state of RECIPIENT_STATES) {
        expect({ state, n: whole[state]?.length }).toEqual({
          state,
          n: (counts.sms?.[state] ?? 0) + (counts.voice?.[state] ?? 0),
        });
      }
    }
    await sql`update runs set control = 'run' where id = ${runId}`.execute(db);
  });

  test('a state and a code together, and a run whose codes were never counted', async () => {
    const failed = [`${runId}.sms.9`, `${runId}.voice.9`];
    expect(await seqsOf({ state: 'failed', code: 'spam_refused' }, 1, 7)).toEqual(failed);
    expect(await seqsOf({ state: 'sent', code: 'spam_refused' }, 1, 7)).toEqual([]);
    await sql`update runs set codes_counted = null where id = ${runId}`.execute(db);
    expect(await seqsOf({ state: 'failed' }, 1, 7)).toEqual(failed);
    await sql`update runs set codes_counted = true where id = ${runId}`.execute(db);
  });

  test('what was looked at in vain leads on by a cursor, and a state that nobody is in is an empty page', async () => {
    const page = await listRecipients(db, runId, { state: 'sent', channel: 'sms', limit: 10, lookAt: 7 });
    expect(page).toEqual({ recipients: [], next: { channel: 'sms', seq: 6 } });
    const none = await listRecipients(db, runId, { state: 'rejected', limit: 10, lookAt: 7 });
    expect(none).toEqual({ recipients: [], next: undefined });
  });
});
