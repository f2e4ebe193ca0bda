import { LIMITS } from '../../../src/domain/limits';
import { Foreground } from '../../../src/foreground';
import type { Storage } from '../../../src/storage/storage';
import { describeWithDatabase } from '../../support/storage';
import { until } from '../../support/until';
import { createOutboxRig, type OutboxRig } from '../outbox-rig';

/** Messages beside requests that their process answers late. */
describeWithDatabase('messages beside late requests', (database) => {
  let storage: Storage;
  let rig: OutboxRig;
  let nowMs: number;
  beforeAll(async () => {
    storage = await database.open();
  });
  beforeEach(async () => {
    nowMs = 0;
    rig = await createOutboxRig(storage);
  });
  afterEach(() => rig.stop());

  /** A process one of whose requests is late for as long as the test wants. */
  async function busyProcess() {
    // Time stands still for the requests, and so does their being late.
    const foreground = new Foreground(() => nowMs);
    const process = await rig.process({}, { foreground });
    const leave = foreground.enter();
    nowMs = LIMITS.foregroundLateMs;
    return { ...process, foreground, leave };
  }

  test('marketing ones wait, and leave after a while though requests are always late', async () => {
    const { delivery, sms, foreground } = await busyProcess();
    await delivery.accept(rig.workspaceId, rig.sms('one', { class: 'marketing' }));
    await new Promise((done) => setTimeout(done, 10 * LIMITS.foregroundLookMs));
    expect(sms.uids()).toEqual([]);
    // The requests stay late, and what may be given to them is used up.
    for (let ms = 0; ms < LIMITS.foregroundBudgetMs; ms += LIMITS.foregroundLookMs) {
      nowMs += LIMITS.foregroundLookMs;
      foreground.mustWait();
    }
    expect(foreground.isLate).toBe(true);
    await until('it has left', () => sms.uids().includes('one'));
  });

  test('marketing ones wait no longer when the requests are answered', async () => {
    const { delivery, sms, leave } = await busyProcess();
    leave();
    await delivery.accept(rig.workspaceId, rig.sms('one', { class: 'marketing' }));
    await until('it has left', () => sms.uids().includes('one'));
  });

  test('transactional ones do not wait for them', async () => {
    const { delivery, sms, leave } = await busyProcess();
    await delivery.acceptMany(rig.workspaceId, [
      rig.sms('news', { class: 'marketing' }),
      rig.sms('code', { class: 'transactional' }),
    ]);
    await until('the code has left', () => sms.uids().includes('code'));
    expect(sms.uids()).toEqual(['code']);
    leave();
    await until('both have left', () => sms.uids().length === 2);
  });
});
