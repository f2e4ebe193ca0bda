import type { Kysely } from 'kysely';
import { createIdempotency } from '../../src/messaging/idempotency';
import type { MessagingTables } from '../../src/messaging/tables';
import { describeEachEngine } from '../support/storage';

describeEachEngine('claims of an Idempotency-Key', (engine) => {
  let db: Kysely<MessagingTables>;
  let nowMs = Date.now();
  beforeAll(async () => {
    db = (await engine.open()).tables<MessagingTables>();
  });

  const open = (as: 'embedded' | 'postgres') => createIdempotency({ db, engine: as, now: () => nowMs });
  const callWith = (key: string) => ({
    workspaceId: 'ws_1',
    scope: 'POST /things',
    key,
    payload: { a: 1 },
    secret: false,
  });

  test('what an earlier process had claimed is free at once where there is one process at a time', async () => {
    const call = callWith('embedded');
    const first = await open('embedded').begin(call);
    nowMs += 10;
    const second = await open('embedded').begin(call);
    if (!('claim' in first) || !('claim' in second)) throw new Error('there is no answer yet');
    expect(second.claim.mint.id('x')).toBe(first.claim.mint.id('x'));
  });

  test('a process does not take its own running calls for an earlier one’s', async () => {
    const idempotency = open('embedded');
    nowMs += 10;
    await idempotency.begin(callWith('own'));
    await expect(idempotency.begin(callWith('own'))).rejects.toMatchObject({
      code: 'idempotency_in_progress',
    });
  });

  test('beside other processes a claim holds until its lease ends', async () => {
    const call = callWith('postgres');
    await open('postgres').begin(call);
    nowMs += 10;
    await expect(open('postgres').begin(call)).rejects.toMatchObject({ code: 'idempotency_in_progress' });
    nowMs += 60_000;
    expect(await open('postgres').begin(call)).toHaveProperty('claim');
  });

  test('the first answer stays when two attempts turn out to be alive', async () => {
    const call = callWith('twice');
    const idempotency = open('postgres');
    const first = await idempotency.begin(call);
    nowMs += 60_000;
    const second = await idempotency.begin(call);
    if (!('claim' in first) || !('claim' in second)) throw new Error('there is no answer yet');
    await second.claim.settle({ status: 201, headers: {}, body: 'second' });
    await first.claim.settle({ status: 500, headers: {}, body: 'first' });
    await first.claim.settle({ status: 201, headers: {}, body: 'first' });
    expect(await idempotency.begin(call)).toEqual({ answer: { status: 201, headers: {}, body: 'second' } });
  });
});
