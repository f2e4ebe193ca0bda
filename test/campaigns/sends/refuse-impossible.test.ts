/** Proves that a durable send is refused where the service says that no account can do it, and stored where the service says nothing. */

import type { TemplateLookup } from '../../../src/campaigns/model/dependencies';
import { impossibleSend } from '../../../src/campaigns/sends/refuse-impossible';
import { durableSendBody } from '../../../src/contracts/durable-sends';
import { LIMITS } from '../../../src/domain/limits';

const body = (more: object = {}) =>
  durableSendBody.parse({
    ...{ channel: 'sms', uid: 'u1', to: '+12025550190', from: '12345', 'template-id': 'tpl_1' },
    ...more,
  });

const finding = (about: string, severity = 'error') => ({
  about,
  severity,
  message: `The ${about} is wrong`,
});

describe('a durable send that is asked about', () => {
  beforeEach(() => void jest.useFakeTimers());
  afterEach(() => void jest.useRealTimers());

  test('is refused with every finding that no account is free of', async () => {
    const impossible = impossibleSend(async () => [
      finding('template'),
      finding('sender'),
      finding('account'),
    ]);
    const refusal = await impossible('ws_1', body());
    expect(refusal?.code).toBe('not_possible');
    expect(refusal?.errors.map(({ path, code }) => [path, code])).toEqual([
      ['template-id', 'not_possible'],
      ['from', 'not_possible'],
      ['channel', 'not_possible'],
    ]);
  });

  test('is taken where some account can do it, and where the service is away', async () => {
    expect(
      await impossibleSend(async () => [finding('template', 'warning')])('ws_1', body()),
    ).toBeUndefined();
    const away = impossibleSend(async () => {
      throw new Error('connection refused');
    });
    expect(await away('ws_1', body())).toBeUndefined();
    expect(await impossibleSend(undefined)('ws_1', body())).toBeUndefined();
  });

  test('is taken after a bounded time by a service that does not answer', async () => {
    const taken = impossibleSend(() => new Promise(() => undefined))('ws_1', body());
    await jest.advanceTimersByTimeAsync(LIMITS.sendCheckMs);
    expect(await taken).toBeUndefined();
  });

  test('shares one answer with others by the same template for a moment, and with none of another workspace', async () => {
    const check = jest.fn<ReturnType<NonNullable<TemplateLookup['check']>>, [string, unknown]>(
      async () => [],
    );
    const impossible = impossibleSend(check);
    for (const uid of ['u1', 'u2', 'u3']) await impossible('ws_1', body({ uid }));
    expect(check).toHaveBeenCalledTimes(1);
    expect(JSON.stringify(check.mock.calls[0])).not.toContain('+12025550190');
    await impossible('ws_2', body());
    expect(check).toHaveBeenCalledTimes(2);
    await jest.advanceTimersByTimeAsync(LIMITS.sendCheckSharedMs);
    await impossible('ws_1', body());
    expect(check).toHaveBeenCalledTimes(3);
  });
});
