/** Proves claims and answers under an Idempotency-Key when attempts overlap. */

import type { Kysely } from 'kysely';
import { createIdempotency } from '../../src/messaging/idempotency';
import type { MessagingTables } from '../../src/messaging/model/tables';
import { describeWithDatabase } from '../support/storage';

describeWithDatabase('claims of an Idempotency-Key', (database) => {
  let db: Kysely<MessagingTables>;
  let nowMs = Date.now();
  beforeAll(async () => {
    db = (await database.open()).tables<MessagingTables>();
  });

  const open = () => createIdempotency({ db, now: () => nowMs });
  const callWith = (key: string) => ({
    workspaceId: 'ws_1',
    scope: 'POST /things',
    key,
    payload: { a: 1 },
    secret: false,
  });

  test('a claim holds until its lease ends', async () => {
    const call = callWith('postgres');
    await open().begin(call);
    nowMs += 10;
    await expect(open().begin(call)).rejects.toMatchObject({ code: 'idempotency_in_progress' });
    nowMs += 60_000;
    expect(await open().begin(call)).toHaveProperty('claim');
  });

  test('the first answer stays when two attempts turn out to be alive', async () => {
    const call = callWith('twice');
    const idempotency = open();
    const first = await idempotency.begin(call);
    nowMs += 60_000;
    const second = await idempotency.begin(call);
    if (!('claim' in first) || !('claim' in second)) throw new Error('there is no answer yet');
    await second.claim.settle({ status: 201, headers: {}, body: 'second' });
    await first.claim.settle({ status: 500, headers: {}, body: 'first' });
    await first.claim.settle({ status: 201, headers: {}, body: 'first' });
    expect(await idempotency.begin(call)).toEqual({ answer: { status: 201, headers: {}, body: 'second' } });
  });

  test('a late refusal of the first attempt does not forget what the second one has created', async () => {
    const call = callWith('late refusal');
    const idempotency = open();
    const first = await idempotency.begin(call);
    nowMs += 60_000;
    const second = await idempotency.begin(call);
    if (!('claim' in first) || !('claim' in second)) throw new Error('there is no answer yet');
    await first.claim.settle({ status: 422, headers: {}, body: 'first' });
    await second.claim.settle({ status: 201, headers: {}, body: 'second' });
    expect(await idempotency.begin(call)).toEqual({ answer: { status: 201, headers: {}, body: 'second' } });
  });
});
