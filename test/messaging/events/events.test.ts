/** Proves that a reader of the event feed misses no event and reads none twice. */

import { sql } from 'kysely';
import type { MessageEvent } from '../../../src/domain/message';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { allEvents, createOutboxRig, type OutboxRig, type TestProcess } from '../outbox-rig';

describeWithDatabase('the event feed', (database) => {
  let rig: OutboxRig;
  let one: TestProcess;
  beforeAll(async () => {
    const storage = await database.open();
    rig = await createOutboxRig(storage);
    one = await rig.process();
  });
  afterAll(() => rig.stop());

  const read = (query: { after?: string; limit?: number; waitSeconds?: number }) =>
    one.delivery.readEvents(rig.workspaceId, { limit: 1_000, waitSeconds: 0, ...query });
  /** The cursor after everything that happened, once nothing is under way any more. */
  const end = async (): Promise<string> => {
    await until('nothing is under way', async () => !Object.values(await rig.states()).includes('accepted'));
    let next: string | undefined;
    for (;;) {
      const page = await read({ after: next });
      if (page.events.length === 0) return page.next;
      next = page.next;
    }
  };

  test('is empty with a cursor at first, and the cursor serves', async () => {
    const first = await read({});
    expect(first).toEqual({ events: [], next: expect.any(String) });
    await one.delivery.accept(rig.workspaceId, rig.sms('first'));
    const { events } = await read({ after: first.next });
    expect(events[0]).toMatchObject({ uid: 'first', type: 'accepted', state: 'accepted', channel: 'sms' });
    await expect(read({ after: 'nonsense!' })).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('pages of any size hold the same events', async () => {
    const from = await end();
    const messages = Array.from({ length: 50 }, (_, i) => rig.sms(`p${i}`, { campaign: 'c1' }));
    await one.delivery.acceptMany(rig.workspaceId, [
      messages[0],
      messages[0],
      ...messages,
    ] as typeof messages);
    await until('all are sent', async () => (await read({ after: from })).events.length === 100);
    const { events: whole, next } = await read({ after: from });
    const small: MessageEvent[] = [];
    for (let after = from; ; ) {
      const page = await read({ after, limit: 7 });
      small.push(...page.events);
      if (page.events.length === 0) {
        expect(page.next).toBe(next);
        break;
      }
      after = page.next;
    }
    expect(small).toEqual(whole);
    expect(whole.every((event, i) => i === 0 || event.seq > (whole[i - 1] as MessageEvent).seq)).toBe(true);
  });

  /** One row with so many events, as the receipts of that many messages are written, and nothing in its holes. */
  const log = async (count: number, event: (i: number) => unknown, gap = 0) => {
    await sql`
      with head as (
        update event_heads set next_seq = next_seq + ${count + gap}::int where workspace_id = ${rig.workspaceId}
        returning next_seq - ${count + gap}::int as first
      )
      insert into event_log (workspace_id, first_seq, count, events)
      select ${rig.workspaceId}, head.first, ${count}::int,
        ${JSON.stringify(Array.from({ length: count }, (_, i) => event(i)))}::json
      from head
    `.execute(rig.db);
  };
  const readAll = async (after: string, limit: number) => {
    const uids: string[] = [];
    for (let from = after; ; ) {
      const { events, next } = await read({ after: from, limit });
      if (events.length === 0) return uids;
      uids.push(...events.map(({ uid }) => uid));
      from = next;
    }
  };

  test.each([7, 100, 1_000])(
    'rows of any length, and numbers that were never used, are read past %i at a time',
    async (limit) => {
      const after = await end();
      const counts = [1_200, 3, 1_499, 1];
      for (const count of counts) await log(count, (i) => ({ uid: `${count}/${i}` }), 7);
      const written = counts.flatMap((count) => Array.from({ length: count }, (_, i) => `${count}/${i}`));
      expect(await readAll(after, limit)).toEqual(written);
    },
  );

  test('a row of which nothing came to be is passed over without waiting', async () => {
    const after = await end();
    await log(1_200, () => null);
    await log(1, () => ({ uid: 'behind' }));
    for (const waitSeconds of [0, 20]) {
      const begun = Date.now();
      const { events } = await read({ after, limit: 100, waitSeconds });
      expect(events.map(({ uid }) => uid)).toEqual(['behind']);
      expect(Date.now() - begun).toBeLessThan(15_000);
    }
  });

  test('a reader that waits is answered as soon as something happens', async () => {
    const after = await end();
    const started = Date.now();
    const waiting = read({ after, waitSeconds: 15 });
    await one.delivery.accept(rig.workspaceId, rig.sms('awaited'));
    const { events } = await waiting;
    expect(events[0]).toMatchObject({ uid: 'awaited' });
    expect(Date.now() - started).toBeLessThan(10_000);
  });

  test('a reader that waits in vain is answered in time, and one that left is not waited for', async () => {
    const after = await end();
    expect(await read({ after, waitSeconds: 0.1 })).toEqual({ events: [], next: after });
    const left = new AbortController();
    const waiting = one.delivery.readEvents(rig.workspaceId, {
      after,
      limit: 10,
      waitSeconds: 20,
      signal: left.signal,
    });
    left.abort();
    expect(await waiting).toEqual({ events: [], next: after });
  });

  test('a reader that waits learns what another process wrote', async () => {
    const two = await rig.process();
    const after = await end();
    const waiting = read({ after, waitSeconds: 15 });
    await two.delivery.accept(rig.workspaceId, rig.sms('elsewhere'));
    expect((await waiting).events[0]).toMatchObject({ uid: 'elsewhere' });
  });

  test('a reader that follows two writers at work misses none and reads none twice', async () => {
    const two = await rig.process();
    let after = await end();
    const seen: MessageEvent[] = [];
    const writing = Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        (i % 2 ? one : two).delivery.accept(rig.workspaceId, rig.sms(`w${i}`)),
      ),
    );
    while (seen.filter((event) => event.type === 'sent').length < 200) {
      const page = await read({ after, limit: 50, waitSeconds: 1 });
      seen.push(...page.events);
      after = page.next;
    }
    await writing;
    expect(new Set(seen.map((event) => `${event.uid} ${event.type}`)).size).toBe(400);
    expect(seen).toHaveLength(400);
    expect(seen.every((event, i) => i === 0 || event.seq > (seen[i - 1] as MessageEvent).seq)).toBe(true);
    expect((await allEvents(one.delivery, rig.workspaceId)).slice(-400)).toEqual(seen);
  });

  test('a writer that is slow to commit keeps later ones back, so that no reader passes it by', async () => {
    const after = await end();
    let written: () => void = () => undefined;
    const hasWritten = new Promise<void>((done) => {
      written = done;
    });
    let commit: () => void = () => undefined;
    const mayCommit = new Promise<void>((done) => {
      commit = done;
    });
    const slow = rig.db.transaction().execute(async (trx) => {
      await sql`
        with head as (
          update event_heads set next_seq = next_seq + 1 where workspace_id = ${rig.workspaceId}
          returning next_seq - 1 as first
        )
        insert into event_log (workspace_id, first_seq, count, events)
        select ${rig.workspaceId}, head.first, 1, '[{"uid":"slow"}]'::json from head
      `.execute(trx);
      written();
      await mayCommit;
    });
    await hasWritten;
    const quick = one.delivery.accept(rig.workspaceId, rig.sms('quick'));
    await until('the second writer waits', async () => {
      const { rows } = await sql`
        select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '%insert into messages%'
      `.execute(rig.db);
      return rows.length > 0;
    });
    expect((await read({ after })).events).toEqual([]);
    commit();
    await Promise.all([slow, quick]);
    const { events } = await read({ after });
    expect(events.slice(0, 2).map((event) => event.uid)).toEqual(['slow', 'quick']);
  });
});
